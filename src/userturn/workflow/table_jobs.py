"""The rules that make tables, figures and the report: what each does, and from what."""

from userturn.sources.job import Job, identity
from userturn.workflow.registry import (
    FIGURE_RULES,
    TABLE_RULES,
    figures_of,
    made_of,
    paths_of,
    paths_of_figure,
    tables_of,
)
from userturn.workflow.table_inputs import input_of

DOES = {  # what a rule does, if it does more than make one table
    "analyse": (
        "Compare, pool and correlate: every table that is made from all verdicts and grades."
    ),
    "compare_with_margins": (
        "Test the claims that something is small, unchanged or kept against the config's margins."
    ),
    "tabulate_controls": (
        "Count how many human turns each judge calls genuine and how many failures it catches."
    ),
    "measure_judges": (
        "Measure every judge by human turns, planted failures, labelled turns and people's labels."
    ),
    "tabulate_likelihood": (
        "Make the tables of gains and identification of reference follow-ups and of own turns."
    ),
    "tabulate_turns": "Make the table of rates after each user turn of conversations.",
    "tabulate_languages": (
        "Make the tables of rates by language, and of the same problems across languages."
    ),
    "tabulate_self_play": "Make the table of self-play over depth.",
    "tabulate_pairs": "Make the table of how often a model's turn is taken for a person's.",
    "measure_signals": (
        "Measure what tells the right answers of an item, and what the best of them is worth."
    ),
    "tabulate_costs": "Make the tables of each judge's cost, speed and injection rate.",
    "compare_with_people": (
        "Measure how far judges agree with people, and correct judges' rates by people's labels."
    ),
    "compare_with_paper": "Compare the paper's published results with this study's.",
    "measure_training_overlap": (
        "Count the evaluation items that occur in training data, exactly or nearly."
    ),
    "draw_figures": "Draw every figure, from the verdicts of the primary judge.",
    "draw_turns": "Draw rates after each user turn of conversations.",
    "draw_languages": "Draw rates by the language of the prompt.",
    "draw_self_play": "Draw what becomes of self-play over depth.",
    "draw_human_likeness": "Draw how often a model's turn is taken for a person's.",
    "draw_likelihood": "Draw the likelihood of reference follow-ups beside the rate of follow-ups.",
    "draw_signals": "Draw what tells the right answers of an item.",
    "draw_confusion": "Draw the labels of each judge against the labels of people.",
}


def _job(rule: str, function: str, outputs: dict[str, list[str]], part: str) -> Job:
    return Job(
        DOES.get(rule, f"Make {', '.join(outputs)}."),
        function,
        {name: input_of(name) for name in made_of(rule)},
        outputs,
        identity(f"{part}.identities.{rule}"),
    )


JOBS_OF_TABLES = {
    rule: _job(
        rule,
        "tables.make_tables.make_tables",
        {name: paths_of(name) for name in tables_of(rule)},
        "tables",
    )
    for rule in TABLE_RULES
}
JOBS_OF_FIGURES = {
    rule: _job(
        rule,
        "figures.draw.draw_figures",
        {name: paths_of_figure(name) for name in figures_of(rule)},
        "figures",
    )
    for rule in FIGURE_RULES
}
JOBS_OF_FIGURES["draw_confusion"] = JOBS_OF_FIGURES["draw_confusion"]._replace(
    function="figures.confusion.draw_confusion",
    inputs={
        "path_to_confusion": "results/tables/confusion.parquet",
        "path_to_rubric": input_of("rubric"),
    },
    outputs={"paths_to_figure": paths_of_figure("confusion")},
)
REPORT = Job(
    "Write the page of headline, figures and tables, and the explorer's data.",
    "report.build.build_report",
    {
        "user_turns": "study.tables.user_turns",
        "verdicts": "study.tables.verdicts",
        "answers": "study.tables.answers",
        "grades": "study.tables.grades",
        "datasets": "study.data.prepared",
        "paths_to_descriptions": "study.data.descriptions",
        "paths_to_annotations": "study.humans.annotations",
        "paths_to_scores": "study.of_sources.scores",
        "paths_to_tables": "study.tables.files",
        "paths_to_figures": "study.figures.files",
        "charts": "study.figures.charts",
        "paths_to_captions": "study.figures.captions",
        "path_to_rubric": "data/rubric.yaml",
    },
    {"path_to_report": "results/report/index.html", "folder_of_data": "results/report/data"},
    {"identity": "study.report.identity", "judge": "study.grid.primary_judge"},
)
