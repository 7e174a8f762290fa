"""The rules that make tables, figures and the report: what each makes, and from what."""

from userturn.workflow.job import Job, identity
from userturn.workflow.registry import FIGURES, figures_of, paths_of, paths_of_figure, tables_of


def _tables(*names: str) -> dict[str, str]:
    """Return the Parquet file of each table."""
    return {name: f"results/tables/{name}.parquet" for name in names}


LABELS = {"annotations": "study.humans.annotations", "round_keys": "study.humans.keys"}
OF_CELLS = {
    "verdicts": "study.tables.verdicts",
    "grades": "study.tables.grades",
    **_tables("judge_card"),
}
OF_PEOPLE = {
    "user_turns": "study.tables.user_turns",
    "verdicts": "study.tables.verdicts",
    **LABELS,
    "blind": "study.humans.items",
    "rubric": "data/rubric.yaml",
}
OF_CONTROLS = {
    "control_verdicts": "study.controls.verdicts",
    "human_items": "study.controls.human_items",
}
COMPARED_WITH_PAPER = (
    "rates",
    "accuracy",
    "families",
    "pooled_rates",
    "failure_profiles",
    "contrasts",
    "post_training",
)
TABLE_RULES = {  # by rule: what it does, from what, and the identity of its tables
    "tabulate": (
        "Make the tables of rates and health of all cells, and of accuracy of all models.",
        {
            "summaries": "study.tables.summaries",
            "grades": "study.tables.grades",
            "answers": "study.tables.answers",
        },
        "tables.identity",
    ),
    "analyse": (
        "Compare, pool and correlate: every table that is made from all verdicts and grades.",
        OF_CELLS | {"rubric": "data/rubric.yaml"},
        "tables.analysis_identity",
    ),
    "compare_with_margins": (
        "Test the claims that something is small, unchanged or kept against the config's margins.",
        OF_CELLS | _tables("families", "decoupling", "item_association"),
        "tables.margins_identity",
    ),
    "tabulate_controls": (
        "Count how many human turns each judge calls genuine and how many failures it catches.",
        OF_CONTROLS,
        "controls.identity",
    ),
    "measure_chance_floor": (
        "Compare each rate with the rate of the same turns after other items' answers.",
        {
            "swapped_verdicts": "study.chance_floor.verdicts",
            "verdicts": "study.chance_floor.own_verdicts",
        },
        "chance_floor.identity",
    ),
    "measure_judges": (
        "Measure every judge by human turns, planted failures, labelled turns and people's labels.",
        OF_CONTROLS
        | OF_PEOPLE
        | {
            "labelled_verdicts": "study.labelled.verdicts",
            "labelled_items": "study.labelled.items",
            "labelled_turns": "study.labelled.user_turns",
        },
        "tables.card_identity",
    ),
    "tabulate_likelihood": (
        "Make the tables of gains and identification of reference follow-ups and of own turns.",
        {
            "scores": "study.tables.likelihood.scores",
            "user_turns": "study.tables.user_turns",
            "verdicts": "study.tables.verdicts",
            **LABELS,
        },
        "tables.likelihood.identity",
    ),
    "tabulate_turns": (
        "Make the table of rates after each user turn of conversations.",
        {"verdicts": "study.tables.by_turn.verdicts"},
        "tables.by_turn.identity",
    ),
    "tabulate_languages": (
        "Make the tables of rates by language, and of the same problems across languages.",
        {
            "turn_languages": "study.languages.files",
            "user_turns": "study.languages.user_turns",
            "verdicts": "study.languages.verdicts",
            "grades": "study.languages.grades",
            **LABELS,
            **_tables("families", "judge_card"),
        },
        "tables.languages_identity",
    ),
    "tabulate_self_play": (
        "Make the table of self-play over depth.",
        {
            "conversations": "study.self_play.conversations",
            "user_turns": "study.self_play.user_turns",
            "verdicts": "study.self_play.verdicts",
            "scores": "study.self_play.scores",
        },
        "self_play.identity",
    ),
    "tabulate_pairs": (
        "Make the table of how often a model's turn is taken for a person's.",
        {
            "user_turns": "study.pairs.user_turns",
            "datasets": "study.pairs.datasets",
            "descriptions": "study.pairs.descriptions",
            "annotations": "study.pairs.annotations",
            "round_keys": "study.pairs.keys",
        },
        "pairs.identity",
    ),
    "measure_signals": (
        "Measure what tells the right answers of an item, and what the best of them is worth.",
        {
            "candidates": "study.candidates.answers",
            "candidate_grades": "study.candidates.grades",
            "candidate_verdicts": "study.candidates.verdicts",
            "candidate_items": "study.candidates.items",
            "reactions": "study.candidates.reactions",
        },
        "candidates.identity",
    ),
    "tabulate_costs": (
        "Make the tables of each judge's cost, speed and injection rate.",
        {
            **_tables("rates", "accuracy", "chance_floor"),  # made of replies that cost
            "replies": "study.tables.made_of_replies",  # so are these, where there are any
            "labelled_verdicts": "study.labelled.verdicts",
            **OF_CONTROLS,
        },
        "judges.identity",
    ),
    "compare_with_people": (
        "Measure how far judges agree with people, and correct judges' rates by people's labels.",
        OF_PEOPLE,
        "humans.identity",
    ),
    "compare_with_paper": (
        "Compare the paper's published results with this study's.",
        _tables(*COMPARED_WITH_PAPER, "judge_card"),
        "tables.shown_identity",
    ),
    "measure_training_overlap": (
        "Count the evaluation items that occur in training data, exactly or nearly.",
        {"data": "study.training.data", "datasets": "study.training.evaluated"},
        "training.overlap_identity",
    ),
}
PARAMS = {  # of rules whose tables other settings change, too
    "tabulate_costs": {"prices": "study.grid.prices"},
    "compare_with_paper": {"judge": "study.grid.primary_judge"},
}
FIGURE_RULES = {  # by rule: what it draws, and the identity of its figures
    "draw_figures": (
        "Draw every figure, from the verdicts of the primary judge.",
        "tables.shown_identity",
    ),
    "draw_turns": (
        "Draw rates after each user turn of conversations.",
        "tables.shown_turns_identity",
    ),
    "draw_languages": (
        "Draw rates by the language of the prompt.",
        "tables.shown_languages_identity",
    ),
    "draw_self_play": (
        "Draw what becomes of self-play over depth.",
        "tables.shown_self_play_identity",
    ),
    "draw_human_likeness": (
        "Draw how often a model's turn is taken for a person's.",
        "pairs.identity",
    ),
    "draw_likelihood": (
        "Draw the likelihood of reference follow-ups beside the rate of follow-ups.",
        "tables.shown_likelihood_identity",
    ),
    "draw_signals": ("Draw what tells the right answers of an item.", "candidates.identity"),
}


def _drawn_from(rule: str) -> list[str]:
    used = {table for name in figures_of(rule) for table in FIGURES[name].tables}
    return sorted(used | {"families", "judge_card"})


JOBS_OF_TABLES = {
    rule: Job(
        does,
        "tables.make_tables.make_tables",
        inputs,
        {name: paths_of(name) for name in tables_of(rule)},
        identity(asked) | PARAMS.get(rule, {}),
    )
    for rule, (does, inputs, asked) in TABLE_RULES.items()
}
JOBS_OF_FIGURES = {
    rule: Job(
        does,
        "figures.draw.draw_figures",
        _tables(*_drawn_from(rule)),
        {name: paths_of_figure(name) for name in figures_of(rule)},
        identity(asked),
    )
    for rule, (does, asked) in FIGURE_RULES.items()
}
JOBS_OF_FIGURES["draw_confusion"] = Job(
    "Draw the labels of each judge against the labels of people.",
    "figures.confusion.draw_confusion",
    {"path_to_confusion": "results/tables/confusion.parquet", "path_to_rubric": "data/rubric.yaml"},
    {"paths_to_figure": paths_of_figure("confusion")},
    identity("humans.identity"),
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
        "paths_to_scores": "study.tables.likelihood.scores",
        "paths_to_tables": "study.tables.files",
        "paths_to_figures": "study.figures.files",
        "charts": "study.figures.charts",
        "paths_to_captions": "study.figures.captions",
        "path_to_rubric": "data/rubric.yaml",
    },
    {"path_to_report": "results/report/index.html", "folder_of_data": "results/report/data"},
    {"identity": "study.report.identity", "judge": "study.grid.primary_judge"},
)
