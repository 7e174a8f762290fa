"""Tables as pictures."""

PICTURES = (".vl.json", ".svg", ".png")


rule draw_figures:
    """Draw every figure, from the verdicts of the primary judge."""
    input:
        rates="results/tables/rates.parquet",
        accuracy="results/tables/accuracy.parquet",
        health="results/tables/health.parquet",
        families="results/tables/families.parquet",
        contrasts="results/tables/contrasts.parquet",
        failure_profiles="results/tables/failure_profiles.parquet",
    output:
        accuracy_and_followup=multiext(
            "results/figures/accuracy_and_followup", *PICTURES
        ),
        rates_by_temperature=multiext("results/figures/rates_by_temperature", *PICTURES),
        perturbation_effects=multiext("results/figures/perturbation_effects", *PICTURES),
        failure_profiles=multiext("results/figures/failure_profiles", *PICTURES),
        grid_overview=multiext("results/figures/grid_overview", *PICTURES),
    log:
        "logs/draw_figures.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        judge=study.primary_judge,
    script:
        "../scripts/draw_figures.py"
