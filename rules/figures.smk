"""Tables as pictures."""


rule draw_accuracy_and_followup:
    """Draw each model's task accuracy beside its follow-up rate."""
    input:
        rates="results/tables/rates.parquet",
        accuracy="results/tables/accuracy.parquet",
    output:
        vega_lite="results/figures/accuracy_and_followup.vl.json",
        svg="results/figures/accuracy_and_followup.svg",
        png="results/figures/accuracy_and_followup.png",
    log:
        "logs/draw_accuracy_and_followup.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    script:
        "../scripts/draw_accuracy_and_followup.py"


rule draw_rates_by_temperature:
    """Draw the follow-up rate over temperature, for each perturbation."""
    input:
        rates="results/tables/rates.parquet",
    output:
        vega_lite="results/figures/rates_by_temperature.vl.json",
        svg="results/figures/rates_by_temperature.svg",
        png="results/figures/rates_by_temperature.png",
    log:
        "logs/draw_rates_by_temperature.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    script:
        "../scripts/draw_rates_by_temperature.py"
