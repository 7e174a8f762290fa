"""The report: one page, with an explorer of every user turn."""

CAPTIONS = sorted(glob_wildcards("data/captions/{name}.rst").name)


rule build_report:
    """Write the page of headline, figures and tables, and the explorer's data."""
    input:
        **study.report.inputs,
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
        identity=study.report.identity,
        judge=study.grid.primary_judge,
    script:
        "../scripts/build_report.py"
