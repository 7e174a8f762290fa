"""Tables as pictures."""


rule draw_figures:
    """Draw every figure, from the verdicts of the primary judge."""
    input:
        rates="results/tables/rates.parquet",
        accuracy="results/tables/accuracy.parquet",
        health="results/tables/health.parquet",
        families="results/tables/families.parquet",
        contrasts="results/tables/contrasts.parquet",
        failure_profiles="results/tables/failure_profiles.parquet",
    output:
        **{
            figure: [
                f"results/figures/{figure}.vl.json",
                report(
                    f"results/figures/{figure}.svg",
                    caption=f"../data/captions/{figure}.rst",
                    category="Figures",
                ),
                f"results/figures/{figure}.png",
            ]
            for figure in FIGURES
            if figure != "confusion"  # by rules/humans.smk
        },
    log:
        "logs/draw_figures.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.shown_identity,
        judge=study.primary_judge,
    script:
        "../scripts/draw_figures.py"
