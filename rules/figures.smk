"""Figures. `userturn.workflow.registry` says which tables each figure is drawn from."""

from userturn.workflow.registry import figures_of


rule draw_figures:
    """Draw every figure, from the verdicts of the primary judge."""
    input:
        **study.figures.inputs_of("draw_figures"),
    output:
        **{figure: figure_files(figure) for figure in figures_of("draw_figures")},
    log:
        "logs/draw_figures.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.figures.identity_of("draw_figures"),
    script:
        "../scripts/draw_figures.py"


rule draw_likelihood:
    """Draw the likelihood of reference follow-ups beside the rate of follow-ups."""
    input:
        **study.figures.inputs_of("draw_likelihood"),
    output:
        **{figure: figure_files(figure) for figure in figures_of("draw_likelihood")},
    log:
        "logs/draw_likelihood.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.figures.identity_of("draw_likelihood"),
    script:
        "../scripts/draw_likelihood.py"


rule draw_turns:
    """Draw rates after each user turn of conversations."""
    input:
        **study.figures.inputs_of("draw_turns"),
    output:
        **{figure: figure_files(figure) for figure in figures_of("draw_turns")},
    log:
        "logs/draw_turns.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.figures.identity_of("draw_turns"),
    script:
        "../scripts/draw_turns.py"


rule draw_languages:
    """Draw rates by the language of the prompt."""
    input:
        **study.figures.inputs_of("draw_languages"),
    output:
        **{figure: figure_files(figure) for figure in figures_of("draw_languages")},
    log:
        "logs/draw_languages.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.figures.identity_of("draw_languages"),
    script:
        "../scripts/draw_languages.py"


rule draw_self_play:
    """Draw what becomes of self-play over depth."""
    input:
        **study.figures.inputs_of("draw_self_play"),
    output:
        **{figure: figure_files(figure) for figure in figures_of("draw_self_play")},
    log:
        "logs/draw_self_play.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.figures.identity_of("draw_self_play"),
    script:
        "../scripts/draw_self_play.py"


rule draw_human_likeness:
    """Draw how often a model's turn is taken for a person's."""
    input:
        **study.figures.inputs_of("draw_human_likeness"),
    output:
        **{figure: figure_files(figure) for figure in figures_of("draw_human_likeness")},
    log:
        "logs/draw_human_likeness.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.figures.identity_of("draw_human_likeness"),
    script:
        "../scripts/draw_human_likeness.py"


rule draw_signals:
    """Draw what tells the right answers of an item."""
    input:
        **study.figures.inputs_of("draw_signals"),
    output:
        **{figure: figure_files(figure) for figure in figures_of("draw_signals")},
    log:
        "logs/draw_signals.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.figures.identity_of("draw_signals"),
    script:
        "../scripts/draw_signals.py"


rule draw_confusion:
    """Draw the labels of each judge against the labels of people."""
    input:
        confusion="results/tables/confusion.parquet",
        rubric="data/rubric.yaml",
    output:
        confusion_figure=figure_files("confusion"),
    log:
        "logs/draw_confusion.log",
    localrule: True
    conda:
        "../envs/analysis.yaml"
    params:
        identity=study.figures.identity_of("draw_confusion"),
    script:
        "../scripts/draw_confusion.py"
