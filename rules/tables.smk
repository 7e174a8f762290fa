"""Every table of results/tables. `userturn.workflow.registry` says which rule makes which."""


rule summarise:
    """Count one cell's outcomes and verdicts, one row per judge."""
    input:
        user_turns="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/user_turns.parquet",
        verdicts=by_wildcards(study.tables.verdicts_of),
    output:
        summary="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/summary.parquet",
    log:
        "logs/summarise/{model}/{dataset}/t{temperature}/{perturbation}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.tables.summary_identity),
    script:
        "../scripts/summarise.py"


rule tabulate:
    """Make the tables of rates and health of all cells, and of accuracy of all models."""
    input:
        **study.tables.inputs_of("tabulate"),
    output:
        **table_files("tabulate"),
    log:
        "logs/tabulate.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("tabulate"),
    script:
        "../scripts/tabulate.py"


rule analyse:
    """Compare, pool and correlate: every table that is made from all verdicts and grades."""
    input:
        **study.tables.inputs_of("analyse"),
    output:
        **table_files("analyse"),
    log:
        "logs/analyse.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("analyse"),
    script:
        "../scripts/analyse.py"


rule compare_with_margins:
    """Test the claims that something is small, unchanged or kept against the config's margins."""
    input:
        **study.tables.inputs_of("compare_with_margins"),
    output:
        **table_files("compare_with_margins"),
    log:
        "logs/compare_with_margins.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("compare_with_margins"),
    script:
        "../scripts/compare_with_margins.py"


rule tabulate_likelihood:
    """Make the tables of gains and identification of reference follow-ups and of own turns."""
    input:
        **study.tables.inputs_of("tabulate_likelihood"),
    output:
        **table_files("tabulate_likelihood"),
    log:
        "logs/tabulate_likelihood.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("tabulate_likelihood"),
    script:
        "../scripts/tabulate_likelihood.py"


rule tabulate_turns:
    """Make the table of rates after each user turn of conversations."""
    input:
        **study.tables.inputs_of("tabulate_turns"),
    output:
        **table_files("tabulate_turns"),
    log:
        "logs/tabulate_turns.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("tabulate_turns"),
    script:
        "../scripts/tabulate_turns.py"


rule tabulate_languages:
    """Make the tables of rates by language, and of the same problems across languages."""
    input:
        **study.tables.inputs_of("tabulate_languages"),
    output:
        **table_files("tabulate_languages"),
    log:
        "logs/tabulate_languages.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("tabulate_languages"),
    script:
        "../scripts/tabulate_languages.py"


rule tabulate_self_play:
    """Make the table of self-play over depth."""
    input:
        **study.tables.inputs_of("tabulate_self_play"),
    output:
        **table_files("tabulate_self_play"),
    log:
        "logs/tabulate_self_play.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("tabulate_self_play"),
    script:
        "../scripts/tabulate_self_play.py"


rule tabulate_pairs:
    """Make the table of how often a model's turn is taken for a person's."""
    input:
        **study.tables.inputs_of("tabulate_pairs"),
    output:
        **table_files("tabulate_pairs"),
    log:
        "logs/tabulate_pairs.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("tabulate_pairs"),
    script:
        "../scripts/tabulate_pairs.py"


rule measure_signals:
    """Measure what tells the right answers of an item, and what the best of them is worth."""
    input:
        **study.tables.inputs_of("measure_signals"),
    output:
        **table_files("measure_signals"),
    log:
        "logs/measure_signals.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("measure_signals"),
    script:
        "../scripts/measure_signals.py"


rule tabulate_controls:
    """Count how many human turns each judge calls genuine and how many failures it catches."""
    input:
        **study.tables.inputs_of("tabulate_controls"),
    output:
        **table_files("tabulate_controls"),
    log:
        "logs/tabulate_controls.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("tabulate_controls"),
    script:
        "../scripts/tabulate_controls.py"


rule measure_chance_floor:
    """Compare each rate with the rate of the same turns after other items' answers."""
    input:
        **study.tables.inputs_of("measure_chance_floor"),
    output:
        **table_files("measure_chance_floor"),
    log:
        "logs/measure_chance_floor.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("measure_chance_floor"),
    script:
        "../scripts/measure_chance_floor.py"


rule measure_judges:
    """Measure every judge by human turns, planted failures, labelled turns and people's labels."""
    input:
        **study.tables.inputs_of("measure_judges"),
    output:
        **table_files("measure_judges"),
    log:
        "logs/measure_judges.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("measure_judges"),
    script:
        "../scripts/measure_judges.py"


rule tabulate_costs:
    """Make the tables of each judge's cost, speed and injection rate."""
    input:
        **study.tables.inputs_of("tabulate_costs"),
    output:
        **table_files("tabulate_costs"),
    log:
        "logs/tabulate_costs.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("tabulate_costs"),
        prices=study.grid.prices,
    script:
        "../scripts/tabulate_costs.py"


rule compare_with_people:
    """Measure how far judges agree with people, and correct the judges' rates by people's labels."""
    input:
        **study.tables.inputs_of("compare_with_people"),
    output:
        **table_files("compare_with_people"),
    log:
        "logs/compare_with_people.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("compare_with_people"),
    script:
        "../scripts/compare_with_people.py"


rule compare_with_paper:
    """Compare the paper's published results with this study's."""
    input:
        **study.tables.inputs_of("compare_with_paper"),
    output:
        **table_files("compare_with_paper"),
    log:
        "logs/compare_with_paper.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("compare_with_paper"),
        judge=study.grid.primary_judge,
    script:
        "../scripts/compare_with_paper.py"


rule measure_training_overlap:
    """Count the evaluation items that occur in training data, exactly or nearly."""
    input:
        **study.tables.inputs_of("measure_training_overlap"),
    output:
        **table_files("measure_training_overlap"),
    log:
        "logs/measure_training_overlap.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.tables.identity_of("measure_training_overlap"),
    script:
        "../scripts/measure_training_overlap.py"
