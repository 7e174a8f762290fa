"""From verdicts and grades to tables."""


rule summarise:
    """Count one cell's outcomes and verdicts, one row a judge."""
    input:
        user_turns="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/user_turns.parquet",
        verdicts=study.verdicts,
    output:
        summary="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/summary.parquet",
    log:
        "logs/summarise/{model}/{dataset}/t{temperature}/{perturbation}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.summary_identity,
    script:
        "../scripts/summarise.py"


rule tabulate:
    """Put the rates of all cells and the accuracy of all models into tables."""
    input:
        summaries=study.summaries,
        grades=study.grades,
    output:
        rates="results/tables/rates.parquet",
        rates_csv="results/tables/rates.csv",
        accuracy="results/tables/accuracy.parquet",
        accuracy_csv="results/tables/accuracy.csv",
    log:
        "logs/tabulate.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.identity,
    script:
        "../scripts/tabulate.py"


rule tabulate_costs:
    """Put what every judge cost, and what is known of each, into tables."""
    input:
        rates="results/tables/rates.parquet",
        controls="results/tables/controls.parquet",
    output:
        costs="results/tables/costs.parquet",
        judges="results/tables/judges.parquet",
        judges_csv="results/tables/judges.csv",
    log:
        "logs/tabulate_costs.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        prices=study.judges.prices,
        identity=study.judges.identity,
    script:
        "../scripts/tabulate_costs.py"
