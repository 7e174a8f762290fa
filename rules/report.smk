"""Everything on one page, and every user turn behind it."""

CAPTIONS = sorted(glob_wildcards("data/captions/{name}.rst").name)


rule build_report:
    """Write the page of headline, figures and tables, and what its explorer reads."""
    input:
        user_turns=study.all_user_turns,
        verdicts=study.all_verdicts,
        answers=study.answers,
        grades=study.grades,
        datasets=study.data.prepared,
        descriptions=study.data.descriptions,
        annotations=study.humans.annotations,
        tables=expand("results/tables/{table}.parquet", table=TABLES),
        figures=expand("results/figures/{figure}.svg", figure=FIGURES),
        captions=expand("data/captions/{name}.rst", name=CAPTIONS),
        rubric="data/rubric.yaml",
    output:
        report="results/report/index.html",
        data=directory("results/report/data"),
    log:
        "logs/build_report.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.report_identity,
        judge=study.primary_judge,
    script:
        "../scripts/build_report.py"
