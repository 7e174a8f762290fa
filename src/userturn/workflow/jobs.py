"""The table of jobs: what each rule that `run_job` runs makes, from what, by which function.

Rules, `userturn remake`, `userturn why` and the audit read this table.
"""

from collections.abc import Callable, Iterable
from functools import cache

from userturn.sources.source import Job, identity
from userturn.workflow.job_record import SWEEPS as RULES_OF_SWEEPS
from userturn.workflow.registry import (
    FIGURE_RULES,
    FIGURES,
    TABLE_RULES,
    TABLES,
    figures_of,
    input_names,
    input_of,
    paths_of,
    paths_of_figure,
    tables_of,
)


def _jobs(
    rules: Iterable[str],
    function: str,
    part: str,
    names_of: Callable[[str], Iterable[str]],
    paths: Callable[[str], list[str]],
) -> dict[str, Job]:
    """Return the jobs of rules that make tables or figures, by rule."""
    return {
        rule: Job(
            f"Make {'; '.join(_descriptions(rule))}.",
            function,
            {name: input_of(name) for name in input_names(rule)},
            {name: paths(name) for name in names_of(rule)},
            identity(f"{part}.identities.{rule}"),
        )
        for rule in rules
    }


def _descriptions(rule: str) -> list[str]:
    lines = [f"`{name}`: {TABLES[name].says}" for name in tables_of(rule)]
    return lines + [f"`{name}`: {FIGURES[name].says}" for name in figures_of(rule)]


JOBS_OF_TABLES = _jobs(TABLE_RULES, "tables.make_tables.make_tables", "tables", tables_of, paths_of)
JOBS_OF_FIGURES = _jobs(
    FIGURE_RULES, "figures.draw.draw_figures", "figures", figures_of, paths_of_figure
)
JOBS_OF_FIGURES["draw_confusion"] = JOBS_OF_FIGURES["draw_confusion"]._replace(
    function="figures.confusion.draw_confusion",
    inputs={
        "path_to_confusion": "results/tables/confusion.parquet",
        "path_to_rubric": input_of("rubric"),
    },
    outputs={"paths_to_figure": paths_of_figure("confusion")},
)
OF_THE_REPORT = ("user_turns", "verdicts", "answers", "grades")  # inputs by the names of tables
REPORT = Job(
    "Write the page of headline, figures and tables, and the explorer's data.",
    "report.build.build_report",
    {
        **{name: input_of(name) for name in OF_THE_REPORT},
        "datasets": "study.data.prepared",
        "paths_to_descriptions": "study.data.descriptions",
        "paths_to_annotations": "study.humans.annotations",
        "paths_to_scores": input_of("scores"),
        "paths_to_tables": "study.tables.files",
        "paths_to_figures": "study.figures.files",
        "charts": "study.figures.charts",
        "paths_to_captions": "study.figures.captions",
        "path_to_rubric": input_of("rubric"),
    },
    {"path_to_report": "results/report/index.html", "folder_of_data": "results/report/data"},
    {"identity": "study.report_identity", "judge": "study.grid.primary_judge"},
)

NAME = r"[a-z0-9][a-z0-9._-]*"
CELL = "results/cells/{model}/{dataset}/t{temperature}/{perturbation}"
TURNS = f"{CELL}/user_turns.parquet"
ROUND, PAIRS = "results/humans/{round}", "results/pairs/{round}"
DATASET = "results/datasets/{dataset}.parquet"
ANSWERS = "results/answers/{model}/{dataset}.parquet"

SOURCES = {
    "prepare_dataset": Job(
        "Turn a dataset's file into items of one schema.",
        "datasets.prepare.prepare_dataset",
        {"files": "study.data.source_file"},
        {"path_to_items": DATASET},
        identity("grid.dataset_identity") | {"rows": "study.data.n_rows"},
        wildcards={"dataset": rf"(?!labelled\.){NAME}"},  # rule take_labelled_turns makes these
    ),
    "describe_model": Job(
        "Fetch a model once and record its revision, template hashes, user header and stops.",
        "generation.describe_model.describe_model",
        {"trained": "study.training.folder_of", "described_first": "study.data.described_first"},
        {"path_to_description": "results/models/{model}.json"},
        identity("grid.model_fingerprint"),
        environment="generate",
    ),
    "prepare_training_data": Job(
        "Turn the files of a model's recipe into conversations of one schema.",
        "training.data.prepare_training_data",
        {"files": "study.training.source_files"},
        {"path_to_data": "results/training/{model}/data.parquet"},
        identity("training.data_identity"),
    ),
    "train": Job(
        "Post-train a base by a recipe, continuing from the last checkpoint if there is one.",
        "training.train.train",
    ),
    "record_study": Job(
        "Record the configuration and the content of every file that an identity depends on.",
        "study.record.record_study",
    ),
}
SWEEP = Job(
    "Load one model once and work through every pending request of it.",
    "generation.sweep.run_sweep",
)
SWEEPS = {
    **dict.fromkeys(RULES_OF_SWEEPS, SWEEP),  # here, without asking, or after other models
    "detect_languages": Job(
        "Detect the languages of prompt, answer and turn, for all turns of a model on a dataset.",
        "generation.turn_languages.detect_languages",
        {
            "paths_to_user_turns": "study.languages.user_turns_of",
            "path_to_answers": ANSWERS,
            "path_to_items": DATASET,
        },
        {"path_to_languages": "results/languages/{model}/{dataset}.parquet"},
        identity("languages.identity_of"),
    ),
    "embed_turns": Job(
        "Measure how near each turn of a model on a dataset is to people's turns, by an embedder.",
        "tables.turn_similarity.embed_turns",
        {"paths_to_user_turns": "study.similarities.user_turns_of", "path_to_items": DATASET},
        {"path_to_similarities": "results/similarities/{model}/{dataset}.parquet"},
        identity("similarities.identity_of"),
        {"embedder": "embedder", "seed": "seed"},
        environment="generate",
    ),
}
SERVE = Job(
    "Serve a judge's model once and work through every pending cell of it.",
    "judges.pending_cells.serve_judge",
)
JUDGING = {
    **dict.fromkeys(("serve_judge", "look_up_judge"), SERVE),  # with or without asking
    "batch_judge": Job(
        "Ask a judge about every pending cell of it, in batches that the cells share.",
        "judges.pending_cells.batch_judge",
    ),
}
PEOPLE = {
    "sample_for_humans": Job(
        "Put the turns of one cell in the order of the draw, and mark the wanted ones.",
        "humans.sample.sample_for_humans",
        {"path_to_user_turns": TURNS, "path_to_verdicts": "study.humans.sampling_verdicts"},
        {"path_to_human_sample": f"{CELL}/human_sample.parquet"},
        identity("humans.sample_identity"),
        {"settings": "humans", "seed": "seed"},
    ),
    "draw_annotation_round": Job(
        "Draw one round from all cells, once: what annotators see, and separately the key.",
        "humans.rounds.draw_annotation_round",
        {
            "paths_to_samples": "study.humans.samples_to_draw",
            "paths_to_user_turns": "study.humans.user_turns_to_draw",
            "paths_to_datasets": "study.humans.datasets_to_draw",
            "paths_to_descriptions": "study.humans.models_to_draw",
            "paths_to_earlier_keys": "study.humans.earlier_keys",
            "paths_to_earlier_annotations": "study.humans.earlier_annotations",
        },
        {"path_to_key": f"{ROUND}/key.parquet", "path_to_items": f"{ROUND}/items.parquet"},
    ),
    "build_annotation": Job(
        "Write a round's page for annotators, and the same task for Label Studio.",
        "humans.task_page.build_annotation",
        {
            "path_to_items": f"{ROUND}/items.parquet",
            "path_to_rubric": input_of("rubric"),
            "path_to_labelled": "data/labelled/turns.jsonl",
        },
        {
            "path_to_page": f"{ROUND}/task.html",
            "path_to_tasks": f"{ROUND}/label_studio/tasks.json",
            "path_to_config": f"{ROUND}/label_studio/config.xml",
        },
    ),
    "import_annotations": Job(
        "Check every row that annotators sent back for one round, and take all of them or none.",
        "humans.import_labels.import_annotations",
        {
            "paths_to_files": "study.humans.annotation_files",
            "path_to_key": f"{ROUND}/key.parquet",
            "path_to_rubric": input_of("rubric"),
        },
        {"path_to_annotations": f"{ROUND}/annotations.parquet"},
        identity("humans.annotations_identity") | {"skip_problems": "study.humans.skip_problems"},
    ),
    "draw_pairs": Job(
        "Draw one round of pairs, once: what annotators see, and separately the key.",
        "humans.pairs.draw_pairs",
        {
            "paths_to_user_turns": "study.pairs.user_turns_to_draw",
            "paths_to_datasets": "study.pairs.datasets_to_draw",
            "paths_to_descriptions": "study.pairs.models_to_draw",
            "paths_to_earlier_keys": "study.pairs.earlier_keys",
        },
        {"path_to_key": f"{PAIRS}/key.parquet", "path_to_items": f"{PAIRS}/items.parquet"},
    ),
    "build_pair_page": Job(
        "Write the page of a round of pairs for annotators.",
        "humans.task_page.build_pair_page",
        {"path_to_items": f"{PAIRS}/items.parquet"},
        {"path_to_page": f"{PAIRS}/task.html"},
    ),
    "import_pairs": Job(
        "Check every row that annotators sent back for one round of pairs, and take all or none.",
        "humans.import_labels.import_pairs",
        {"paths_to_files": "study.pairs.annotation_files", "path_to_key": f"{PAIRS}/key.parquet"},
        {"path_to_annotations": f"{PAIRS}/annotations.parquet"},
        identity("pairs.annotations_identity") | {"skip_problems": "study.pairs.skip_problems"},
    ),
}

JOBS = {
    **SOURCES,
    **SWEEPS,
    **JUDGING,
    **PEOPLE,
    **JOBS_OF_TABLES,
    **JOBS_OF_FIGURES,
    "build_report": REPORT,
}


@cache
def every_job() -> dict[str, Job]:
    """Return the whole table of jobs by rule, with the jobs and judge rules of sources.

    Sources are imported only here, so that a job without them starts a tenth of a second sooner.
    """
    from userturn.sources.registry import judge_rules, source_jobs

    verdicts = {
        of.name: Job(
            f"Have one judge label every user turn in {of.folder.partition('/')[0]}.",
            "judges.judge.judge_cell",
            {
                "one_job": f"study.judges.marker({of.verdicts})",
                "path_to_user_turns": of.user_turns,
                "path_to_items": of.items,
            },
            {"path_to_verdicts": of.verdicts},
            identity(f"identity({of.verdicts})"),
            environment="judge",
            n_requests="study.judges.n_at_once",
        )
        for of in judge_rules()
    }
    return {**JOBS, **source_jobs(), **verdicts}
