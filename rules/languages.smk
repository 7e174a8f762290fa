"""In which languages did models answer and write, where a dataset has several?"""


rule detect_languages:
    """Tell the languages of prompt, answer and turn, for all turns of a model on a dataset."""
    input:
        user_turns=by_wildcards(study.languages.user_turns_of),
        answers="results/answers/{model}/{dataset}.parquet",
        dataset="results/datasets/{dataset}.parquet",
    output:
        languages="results/languages/{model}/{dataset}.parquet",
    log:
        "logs/detect_languages/{model}/{dataset}.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=by_wildcards(study.languages.identity_of),
    script:
        "../scripts/detect_languages.py"
