"""People say which of two turns, a person's and a model's, a person wrote: rounds of pairs."""


rule draw_pairs:
    """Draw one round of pairs, once: what annotators see, and separately the key."""
    input:
        user_turns=by_wildcards(study.pairs.user_turns_to_draw),
        datasets=by_wildcards(study.pairs.datasets_to_draw),
        models=by_wildcards(study.pairs.models_to_draw),
        earlier_keys=by_wildcards(study.pairs.earlier_keys),
    output:
        key="results/pairs/{round}/key.parquet",
        blind="results/pairs/{round}/items.parquet",
    log:
        "logs/draw_pairs/{round}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    script:
        "../scripts/draw_pairs.py"


rule build_pair_page:
    """Write the page of a round of pairs for annotators."""
    input:
        blind="results/pairs/{round}/items.parquet",
    output:
        page="results/pairs/{round}/task.html",
    log:
        "logs/build_pair_page/{round}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    script:
        "../scripts/build_pair_page.py"


rule import_pairs:
    """Check every row that annotators sent back for one round of pairs, and take all or none."""
    input:
        files=by_wildcards(study.pairs.annotation_files),
        key="results/pairs/{round}/key.parquet",
    output:
        annotations="results/pairs/{round}/annotations.parquet",
    log:
        "logs/import_pairs/{round}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.pairs.annotations_identity),
        skip_problems=config["humans"]["skip_problems"],
    script:
        "../scripts/import_pairs.py"
