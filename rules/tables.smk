"""Every table of results/tables. `userturn.workflow.registry` says which rule makes which."""

from userturn.workflow.tables import identity_of, inputs_of


rule summarise:
    """Count one cell's outcomes and verdicts, one row a judge."""
    input:
        user_turns="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/user_turns.parquet",
        verdicts=by_wildcards(study.verdicts),
    output:
        summary="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/summary.parquet",
    log:
        "logs/summarise/{model}/{dataset}/t{temperature}/{perturbation}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.summary_identity),
    script:
        "../scripts/summarise.py"


rule tabulate:
    """Put rates and health of all cells, and the accuracy of all models, into tables."""
    input:
        **inputs_of(study, "tabulate"),
    output:
        **table_files("tabulate"),
    log:
        "logs/tabulate.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=identity_of(study, "tabulate"),
    script:
        "../scripts/tabulate.py"


rule analyse:
    """Compare, pool and correlate: every table that is made from all verdicts and grades."""
    input:
        **inputs_of(study, "analyse"),
    output:
        **table_files("analyse"),
    log:
        "logs/analyse.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=identity_of(study, "analyse"),
    script:
        "../scripts/analyse.py"


rule compare_with_margins:
    """Tell which claims that something is small, unchanged or kept hold, by the config's margins."""
    input:
        **inputs_of(study, "compare_with_margins"),
    output:
        **table_files("compare_with_margins"),
    log:
        "logs/compare_with_margins.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=identity_of(study, "compare_with_margins"),
    script:
        "../scripts/compare_with_margins.py"


rule tabulate_controls:
    """Count how many human turns each judge calls genuine and how many failures it catches."""
    input:
        **inputs_of(study, "tabulate_controls"),
    output:
        **table_files("tabulate_controls"),
    log:
        "logs/tabulate_controls.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=identity_of(study, "tabulate_controls"),
    script:
        "../scripts/tabulate_controls.py"


rule tabulate_costs:
    """Put what every judge cost, and what is known of each, into tables."""
    input:
        **inputs_of(study, "tabulate_costs"),
    output:
        **table_files("tabulate_costs"),
    log:
        "logs/tabulate_costs.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=identity_of(study, "tabulate_costs"),
        prices=study.judges.prices,
    script:
        "../scripts/tabulate_costs.py"


rule compare_with_people:
    """Measure how far judges agree with people, and correct the judges' rates by what people say."""
    input:
        **inputs_of(study, "compare_with_people"),
    output:
        **table_files("compare_with_people"),
    log:
        "logs/compare_with_people.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=identity_of(study, "compare_with_people"),
    script:
        "../scripts/compare_with_people.py"


rule compare_with_paper:
    """Put what the paper publishes beside what this study has."""
    input:
        **inputs_of(study, "compare_with_paper"),
    output:
        **table_files("compare_with_paper"),
    log:
        "logs/compare_with_paper.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=identity_of(study, "compare_with_paper"),
        judge=study.primary_judge,
    script:
        "../scripts/compare_with_paper.py"


rule measure_training_overlap:
    """Count the evaluation items that stand in training data, exactly or nearly."""
    input:
        data=study.training.data,
        datasets=study.training.evaluated,
    output:
        table="results/tables/training_overlap.parquet",
        csv="results/tables/training_overlap.csv",
    log:
        "logs/measure_training_overlap.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.training.overlap_identity,
    script:
        "../scripts/measure_training_overlap.py"
