"""The rules that make tables, figures and the report: what each does, and from what."""

from userturn.sources.job import Job, identity
from userturn.workflow.registry import (
    FIGURE_RULES,
    FIGURES,
    TABLE_RULES,
    TABLES,
    figures_of,
    made_of,
    paths_of,
    paths_of_figure,
    tables_of,
)
from userturn.workflow.table_inputs import input_of


def _job(rule: str, function: str, outputs: dict[str, list[str]], part: str) -> Job:
    said = [f"`{name}`: {TABLES[name].says}" for name in tables_of(rule)]
    said += [f"`{name}`: {FIGURES[name].says}" for name in figures_of(rule)]
    return Job(
        f"Make {'; '.join(said)}.",
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
