"""The report: one page that opens from the file system, and the data files that it loads.

All text by models, people and datasets enters the page as JSON and is shown as text content. The
page's policy allows only its own script and the data files beside it to run. It has no times,
machines or commits, so that a second run of the study gives the same page.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from userturn.config.endpoint_models import has_endpoint, served_as
from userturn.config.formats import default_format_models, is_chat, plays_the_user
from userturn.generation.server_records import server_records
from userturn.html.page import CSV_SCRIPT, FOLDER, embedded, policy, read_page
from userturn.humans.import_labels import ANNOTATIONS_SCHEMA
from userturn.judges.kinds import about
from userturn.judges.rubric import Rubric, note_on_ours, read_rubric
from userturn.prompts.header import header_of
from userturn.report.charts import write_charts
from userturn.report.explorer import OUTCOMES, people_without_names, write_explorer
from userturn.report.explorer_prompts import ROWS_PER_FILE, WRITERS, write_script
from userturn.report.headline import headline, n_items, played_of_models
from userturn.report.likelihood_data import write_likelihood
from userturn.storage.files import write_text
from userturn.storage.table_files import read_tables
from userturn.study.cells import PLAIN
from userturn.study.grid import Grid
from userturn.study.model_description import recorded_runners, runners_in_words
from userturn.tables.added_columns import read_joined
from userturn.tables.beside_accuracy import LIMITS
from userturn.tables.judge_validity import warning
from userturn.tables.layout import layouts, page_table
from userturn.tables.make_tables import Tables
from userturn.tables.rates import cell_rates
from userturn.wording import LABELS, label_name, name_labels, one_line_each
from userturn.workflow.registry import FIGURES, TABLES

SETTINGS = ("answer", "user_turn", "samples", "engine", "determinism", "statistics", "seed")
# Settings of a dataset that say where its rows are from.
SOURCES = ("hub", "file", "config", "split", "files", "folder", "url")


def origins(grid: Grid, descriptions: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return rows of three texts: the kind of a thing, its name, and what it was made from."""
    of_models = {
        n: [_model_text(grid, n, of), *_server_texts(grid, n)] for n, of in descriptions.items()
    }
    models = [["model", name, "; ".join(parts)] for name, parts in of_models.items()]
    datasets = [["dataset", name, _dataset_text(grid.datasets[name])] for name in grid.datasets]
    judges = [["judge", name, _judge_text(entry)] for name, entry in grid.judges.items()]
    settings = [["setting", name, _setting_text(grid.config[name])] for name in SETTINGS]
    if len(runners := recorded_runners(grid.results)) > 1:
        words = runners_in_words(runners)
        warning = f"TWO model runners of vLLM wrote texts, which draw differently: {words}"
        settings.append(["setting", "engine", warning])
    played = _instructions(descriptions)
    return [*models, *datasets, *judges, *played, *settings, *_headers(descriptions)]


def _instructions(descriptions: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    names: dict[str, list[str]] = {}
    for name, description in descriptions.items():
        if "instruction" in description:
            names.setdefault(description["instruction"], []).append(name)
    return [["role play", ", ".join(played), text] for text, played in sorted(names.items())]


def _headers(descriptions: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return a row that says how much of the user header each model is shown, if this differs."""
    models_by_header: dict[str, list[str]] = {}
    for name, description in default_format_models(descriptions).items():
        models_by_header.setdefault(header_of(description), []).append(name)
    told = "; ".join(
        f"{header}: {', '.join(names)}" for header, names in sorted(models_by_header.items())
    )
    warning = f"models are shown user headers of DIFFERENT forms, which may differ in rate: {told}"
    return [["setting", "user header", warning]] if len(models_by_header) > 1 else []


def _setting_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_setting_text(one)}" for name, one in sorted(value.items()))
    return f"{value}"


def _model_text(grid: Grid, model: str, description: Mapping[str, Any]) -> str:
    if is_chat(grid.models[model]):
        return "behind a chat API"
    weights = description.get("weights_sha256") or {}
    hashes = [f"{name} sha256 {digest[:12]}" for name, digest in sorted(weights.items())]
    revision = description.get("revision")
    parts = [description["source"], *([f"revision {revision}"] if revision else hashes[:1])]
    return ", ".join(parts)


def _server_texts(grid: Grid, model: str) -> list[str]:
    """Return what a model's server says of itself and cannot promise, nothing without a server."""
    entry = grid.models[model]
    noted = next(server_records(grid, model), None)
    if not has_endpoint(entry) or noted is None:
        return []
    way = noted["dialect"]
    lacks = {
        "token ids of prompts": way["takes_ids"],
        "token ids of replies": way["returns_ids"],
        "seeds": noted["keeps_seeds"],
        "top_k": noted["keeps_top_k"],
        "log-likelihoods": way["scores_by"],
    }
    missing = [name for name, keeps in lacks.items() if not keeps]
    told = ", ".join(f"{name} {value}" for name, value in sorted(noted["account"].items()))
    promises = f"which does not keep: {', '.join(missing)}" if missing else "which keeps everything"
    return [
        f"served as '{served_as(entry)}' by a server ({told or 'which tells nothing'})",
        promises,
        *_drift(noted),
    ]


def _drift(noted: Mapping[str, Any]) -> list[str]:
    """Return how far a later sweep's server was from the first one's, if it differed."""
    lines = []
    if "apart" in noted:
        apart = f"{noted['apart']} nats a token apart"
        lines.append(f"a later sweep found the log-likelihoods of fixed texts {apart}")
    if "n_again" in noted:
        n = len(noted["greedy"])
        lines.append(f"a later sweep found {noted['n_again']} of its {n} greedy texts again")
    return lines


def _dataset_text(entry: Mapping[str, Any]) -> str:
    places = [str(entry[name]) for name in SOURCES if name in entry]
    revision = entry.get("revision")
    return ", ".join([*places, *([f"revision {revision}"] if revision else [])])


def _judge_text(entry: Mapping[str, Any]) -> str:
    parts = [about(entry)]
    parts += [f"model {entry['model']}"] if entry.get("model") else []
    parts += [_setting_text(entry["settings"])] if entry.get("settings") else []
    priced = entry.get("price")
    parts += [f"price of a million tokens: {_setting_text(priced)}"] if priced else []
    return "; ".join(parts)


# In this order: each uses definitions of those before it.
SCRIPTS = [
    "page", "data", "difference", "answer", "summary", "layout", "charts", "save", "paper",
    "tables", "choice", "grid", "match", "filters", "pairs", "reading", "cell", "likelihood",
    "turn", "beside", "sides", "examples", "search", "routes",
]  # fmt: skip
SHOWN_KINDS = (("tables", TABLES), ("figures", FIGURES))
STYLES = ["report.css", "lead.css", "labels.css", "reading.css", "print.css"]


def read_captions(paths: Iterable[str]) -> dict[str, str]:
    """Return captions, one line each, by the name of the figure or table.

    The default caption is the first line of the docstring of its module.
    """
    modules = [f"userturn.{kind}.{name}" for kind, names in SHOWN_KINDS for name in names]
    docstrings = {name.rpartition(".")[2]: import_module(name).__doc__ or "" for name in modules}
    own = {Path(p).stem: " ".join(Path(p).read_text("utf-8").split()) for p in paths}
    # The first line of a docstring is `Table x: ...`.
    about = {name: text.partition("\n")[0].partition(": ")[2] for name, text in docstrings.items()}
    return {name: text[:1].upper() + text[1:] for name, text in about.items()} | own


def write_tables(
    tables: Tables, captions: Mapping[str, str], judge: str, folder: Path
) -> list[dict[str, Any]]:
    """Write each table's rows as a data file, and return the tables' titles and columns.

    A table that is missing has no `columns` in its entry.
    """
    listed = []
    for name, parts in layouts().items():
        for number, layout in enumerate(parts):
            part = f"{name}-{number + 1}" if number else name
            entry: dict[str, Any] = {
                "name": part,
                "file": name,
                "title": layout.title,
                "about": layout.about or captions.get(name, ""),
                "rule": TABLES[name].rule,
                "row": TABLES[name].row,
                "madeOf": TABLES[name].made_of,
            }
            if name in tables:
                page = page_table(layout, tables[name], judge)
                write_script(folder, f"table-{part}", page["rows"])
                entry |= {"columns": page["columns"], "n": len(page["rows"])}
                entry["isEmpty"] = _is_empty(**page)
            listed.append(entry)
    return listed


COUNTED = ("text", "count", "of")  # kinds of columns that a row has even where nothing was found


def _is_empty(columns: Sequence[Sequence[str]], rows: Sequence[Sequence[Any]]) -> bool:
    """Return whether a table of the page has no row, or columns of numbers without any number."""
    numbers = [i for i, c in enumerate(columns) if c[1] not in COUNTED and c[0] != "temperature"]
    values = (value for row in rows for i in numbers for value in row[i])
    return not rows or (bool(numbers) and all(isinstance(v, str | None) for v in values))


def rates_of_cells(grid: Grid, tables: Tables) -> list[list[list[float | None] | None]]:
    """Return the rate of each cell by each judge with its limits, or None if the table lacks it."""
    if "rates" not in tables:
        return []
    rows = cell_rates(tables["rates"]).select(
        "model", "dataset", "temperature", "perturbation", "judge", *LIMITS
    )
    rates = {row[:5]: list(row[5:]) for row in rows.iter_rows()}
    return [
        [
            rates.get((c.model, c.dataset, grid.temperatures[c.temperature], c.perturbation, judge))
            for judge in grid.judges
        ]
        for c in grid.cells
    ]


def assembled(study: dict[str, Any], pictures: Iterable[str]) -> str:
    """Return the page as HTML, with the study's data and static figures inside."""
    parts = FOLDER.joinpath("report")
    style = "".join(parts.joinpath(name).read_text("utf-8") for name in STYLES)
    script = CSV_SCRIPT.read_text("utf-8") + "".join(
        parts.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS
    )
    page = read_page("report/report.html", style=style, script=script, figures="\n".join(pictures))
    rules = policy(page, script_src="'self' file:", img_src="data:", worker_src="blob:")
    before, after = page.replace("{{policy}}", rules).split("{{study}}")
    return f"{before}{embedded(study)}{after}"


def headlines(grid: Grid, models: Sequence[str], tables: Tables) -> dict[str, Any]:
    """Return the main numbers of the report by judge and perturbation."""
    played = [name for name in models if plays_the_user(grid.models[name])]
    return {
        judge: {
            kind: headline(tables, judge, models, kind)
            | {
                "warning": warning(tables.get("judges"), grid, judge),
                "played": played_of_models(tables, judge, played, kind),
            }
            for kind in grid.perturbations
        }
        for judge in grid.judges
    }


def contents(grid: Grid, judge: str, rubric: Rubric, tables: Tables) -> dict[str, Any]:
    """Return the page's data about a study, except its figures, tables and turns."""
    names = tables["families"]["model"].to_list() if "families" in tables else []
    models = [n for n in names if n in grid.models] + [n for n in grid.models if n not in names]
    return {
        "models": models,
        "datasets": list(grid.datasets),
        "temperatures": list(grid.temperatures),
        "perturbations": sorted(grid.perturbations, key=lambda name: (name != PLAIN, name)),
        "private": grid.private_datasets,
        "judges": list(grid.judges),
        "judge": judge,
        "aboutJudges": {name: about(entry) for name, entry in grid.judges.items()},
        "labelNames": {name: label_name(name) for name in (*LABELS, *rubric.labels)},
        "criteria": {name: label["criterion"] for name, label in rubric.labels.items()},
        "rules": one_line_each(name_labels(rubric.rules, rubric.labels)),
        "ours": note_on_ours(rubric),
        "rows": ROWS_PER_FILE,
        "writers": WRITERS,
        "outcomes": OUTCOMES,
        "about": [*map(grid.config.get("study", {}).get, ("name", "date")), n_items(tables)],
        "headlines": headlines(grid, models, tables),
        "rates": rates_of_cells(grid, tables),
    }


def build_report(
    grid: Grid,
    judge: str,
    path_to_rubric: str,
    paths_to_descriptions: Sequence[str],
    paths_to_tables: Sequence[str],
    paths_to_figures: Sequence[str],
    paths_to_captions: Sequence[str],
    paths_to_annotations: Sequence[str],
    paths_to_scores: Sequence[str],
    path_to_report: str,
    folder_of_data: str,
) -> None:
    """Write the report's page by the primary judge, and its data files in a folder beside it.

    Figures are SVG files in the order of the page, each beside its Vega-Lite file. Captions are
    named like figures and tables.
    """
    annotations = read_tables(paths_to_annotations, ANNOTATIONS_SCHEMA)
    tables = {Path(p).stem: read_joined(p) for p in paths_to_tables}
    if "judges" in tables:  # with annotators numbered as in the explorer
        raters = pl.col("first", "second").replace(people_without_names(annotations))
        tables["judges"] = tables["judges"].with_columns(raters)
    rubric = read_rubric(path_to_rubric)
    described = {Path(p).stem: Path(p).read_text("utf-8") for p in paths_to_descriptions}
    descriptions = {name: json.loads(text) for name, text in described.items()}
    folder, captions = Path(folder_of_data), read_captions(paths_to_captions)
    study = contents(grid, judge, rubric, tables)
    study |= write_explorer(grid, judge, rubric.labels, descriptions, annotations, folder)
    study |= write_likelihood(grid, paths_to_scores, folder)
    study["tables"] = write_tables(tables, captions, judge, folder)
    study["made"] = origins(grid, {name: descriptions[name] for name in study["models"]})
    charts, pictures = write_charts(paths_to_figures, captions, folder)
    write_text(assembled(study | charts, pictures), path_to_report)
