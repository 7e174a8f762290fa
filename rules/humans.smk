"""People label a blind sample, to check the judges and to correct their rates."""


rule sample_for_humans:
    """Put the turns of one cell in the order of the draw, and mark the wanted ones."""
    input:
        user_turns="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/user_turns.parquet",
        verdicts=by_wildcards(study.humans.sampling_verdicts),
    output:
        human_sample="results/cells/{model}/{dataset}/t{temperature}/{perturbation}/human_sample.parquet",
    log:
        "logs/sample_for_humans/{model}/{dataset}/t{temperature}/{perturbation}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.humans.sample_identity),
    script:
        "../scripts/sample_for_humans.py"


rule draw_annotation_round:
    """Draw one round from all cells, once: what annotators see, and separately the key."""
    input:
        samples=by_wildcards(study.humans.samples_to_draw),
        user_turns=by_wildcards(study.humans.user_turns_to_draw),
        datasets=by_wildcards(study.humans.datasets_to_draw),
        models=by_wildcards(study.humans.models_to_draw),
        earlier_keys=by_wildcards(study.humans.earlier_keys),
        earlier_annotations=by_wildcards(study.humans.earlier_annotations),
    output:
        key="results/humans/{round}/key.parquet",
        blind="results/humans/{round}/items.parquet",
    log:
        "logs/draw_annotation_round/{round}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    script:
        "../scripts/draw_annotation_round.py"


rule build_annotation:
    """Write a round's page for annotators, and the same task for Label Studio."""
    input:
        blind="results/humans/{round}/items.parquet",
        rubric="data/rubric.yaml",
        labelled="data/labelled/turns.jsonl",
    output:
        page="results/humans/{round}/task.html",
        tasks="results/humans/{round}/label_studio/tasks.json",
        config="results/humans/{round}/label_studio/config.xml",
    log:
        "logs/build_annotation/{round}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    script:
        "../scripts/build_annotation.py"


rule import_annotations:
    """Check every row that annotators sent back for one round, and take all of them or none."""
    input:
        files=by_wildcards(study.humans.annotation_files),
        key="results/humans/{round}/key.parquet",
        rubric="data/rubric.yaml",
    output:
        annotations="results/humans/{round}/annotations.parquet",
    log:
        "logs/import_annotations/{round}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.humans.annotations_identity),
        skip_problems=config["humans"]["skip_problems"],
    script:
        "../scripts/import_annotations.py"
