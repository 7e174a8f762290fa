"""The record of what a study was asked for, and the audit of what it has."""


rule record_study:
    """Record the configuration and the content of every file that an identity depends on."""
    output:
        path_to_record="results/study.json",
    log:
        "logs/record_study.log",
    priority: 1
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.record_identity,
    script:
        "../scripts/run_job.py"


rule audit:
    """Check every artifact, its provenance and the chain between them: `snakemake audit`."""
    log:
        "logs/audit.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    script:
        "../scripts/audit.py"
