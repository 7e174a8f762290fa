"""From verdicts and grades to tables."""

ANALYSED = (
    "pooled_rates",
    "failure_profiles",
    "contrasts",
    "temperature_response",
    "post_training",
    "decoupling",
    "correlations",
)


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
    """Put rates and health of all cells, and the accuracy of all models, into tables."""
    input:
        summaries=study.summaries,
        grades=study.grades,
    output:
        rates="results/tables/rates.parquet",
        rates_csv=report(
            "results/tables/rates.csv",
            caption="../data/captions/rates.rst",
            category="Tables",
        ),
        accuracy="results/tables/accuracy.parquet",
        accuracy_csv=report(
            "results/tables/accuracy.csv",
            caption="../data/captions/accuracy.rst",
            category="Tables",
        ),
        health="results/tables/health.parquet",
        health_csv="results/tables/health.csv",
    log:
        "logs/tabulate.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.identity,
    script:
        "../scripts/tabulate.py"


rule analyse:
    """Compare, pool and correlate: every table that is made from all verdicts and grades."""
    input:
        verdicts=study.all_verdicts,
        grades=study.grades,
    output:
        **{
            table: [
                report(
                    f"results/tables/{table}.csv",
                    caption=f"../data/captions/{table}.rst",
                    category="Tables",
                ),
                *multiext(f"results/tables/{table}", ".parquet", ".md", ".tex"),
            ]
            for table in ANALYSED
        },
        families=multiext("results/tables/families", ".parquet", ".csv"),
        item_association=multiext("results/tables/item_association", ".parquet", ".csv"),
    log:
        "logs/analyse.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.analysis_identity,
    script:
        "../scripts/analyse.py"


rule compare_with_paper:
    """Put what the paper publishes beside what this study has."""
    input:
        rates="results/tables/rates.parquet",
        accuracy="results/tables/accuracy.parquet",
        families="results/tables/families.parquet",
        pooled_rates="results/tables/pooled_rates.parquet",
        failure_profiles="results/tables/failure_profiles.parquet",
        contrasts="results/tables/contrasts.parquet",
        post_training="results/tables/post_training.parquet",
    output:
        anchors=multiext("results/tables/anchors", ".parquet", ".csv", ".md"),
    log:
        "logs/compare_with_paper.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.shown_identity,
        judge=study.primary_judge,
    script:
        "../scripts/compare_with_paper.py"


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
