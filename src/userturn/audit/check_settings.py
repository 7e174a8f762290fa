"""Does the study have what its configuration asks for: identities, pins, rubrics, limits?"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from userturn.audit.check_rows import AGAIN
from userturn.audit.findings import Finding, Note
from userturn.config.formats import model_of
from userturn.config.model_keys import ModelEntry
from userturn.errors import UserError
from userturn.export.read_archive import reasons_left_out
from userturn.export.withheld import Withholding, text_of
from userturn.models.fetch import COMMIT, is_local
from userturn.plural import number_of
from userturn.prompts.load_template import options_of
from userturn.prompts.perturbations import NO_REFERENCE, needs_reference
from userturn.provenance.study_files import FAULTS, Files
from userturn.storage.atomic_files import SCHEMA_VERSION, read_artifact
from userturn.storage.given_files import given_object
from userturn.storage.hashing import short_hash
from userturn.study.cells import ALL
from userturn.study.grid import Grid
from userturn.study.record import StudyRecord
from userturn.tables.format_columns import read_joined
from userturn.tables.rates import of_cells
from userturn.workflow.artifacts import Identities
from userturn.workflow.study import Study


def held_out_findings(
    trained_on: Mapping[str, Collection[str]],
    datasets: Sequence[str],
    overlap: pl.DataFrame,
    contrasts: pl.DataFrame,
) -> list[tuple[str, str]]:
    """Return the datasets that a study reports as held out although its models have seen them.

    Args:
        trained_on: the datasets that recipes declare, for each model that was trained here.
        datasets: names of the study's datasets.
        overlap: `tables/training_overlap`.
        contrasts: `tables/contrasts`.

    Returns:
        Model and sentence of each.
    """
    found = [
        *_unmarked(trained_on, datasets, contrasts.filter(pl.col("factor") == "model")),
        *_unmarked(trained_on, datasets, overlap.rename({"model": "condition"})),
        *_undeclared(trained_on, datasets, overlap),
    ]
    return list(dict.fromkeys(found))


def _unmarked(
    trained_on: Mapping[str, Collection[str]], datasets: Sequence[str], table: pl.DataFrame
) -> Iterator[tuple[str, str]]:
    """Yield the datasets that a table reports as held out although a recipe declares them."""
    reported = table.filter(pl.col("seen").not_().fill_null(True)).select("condition", "dataset")
    for model, dataset in reported.unique(maintain_order=True).iter_rows():
        seen = set(trained_on.get(model, ())) & (set(datasets) if dataset == ALL else {dataset})
        if seen:
            names = f"{', '.join(sorted(seen))} is reported as held out"
            yield model, f"{names}, but the recipe of {model} declares it under trained_on"


def _undeclared(
    trained_on: Mapping[str, Collection[str]], datasets: Sequence[str], overlap: pl.DataFrame
) -> Iterator[tuple[str, str]]:
    """Yield datasets that were never compared with the training data, or occur in it undeclared."""
    compared = {(row["model"], row["dataset"]): row for row in overlap.iter_rows(named=True)}
    for model in sorted(trained_on):
        for dataset in sorted(set(datasets) - set(trained_on[model])):
            row = compared.get((model, dataset))
            if row is None:
                yield model, f"{dataset} was not compared with {model}'s training data"
            elif row["n_exact"] or row["n_near"]:
                occur = f"{row['n_exact']} items of {dataset} occur in the training data of {model}"
                more = f"{row['n_near']} more nearly"
                yield model, f"{occur}, {more}, but its recipe does not declare it"


def check_descriptions(files: Files, grid: Grid) -> Iterator[Finding | Note]:
    """Yield what a model's description does not say as its entry and its pin do."""
    for name, line in grid.models.items():
        path = f"results/models/{name}.json"
        if not files.at(path).is_file():
            continue
        try:
            description = given_object(files.at(path))
        except UserError as error:
            yield Finding("pins", path, "the description of a model", str(error))
            continue
        pinned = str(description.get("revision"))
        if not is_local(line["source"]) and not COMMIT.fullmatch(pinned):
            yield Finding("pins", path, "the commit of a hub model", pinned)
        # The folder of a model that was trained here moves with the results.
        if "recipe" not in line:
            yield from _not_as_asked(path, description, line)
        yield from _pin(files, model_of(name), description)
        if not description.get("proofs"):
            yield Finding("proofs", path, "proofs of its prompts", "none")
        if line["trust_remote_code"]:
            yield Note("trust_remote_code", path, f"{name} runs code from its repository")


def _not_as_asked(
    path: str, description: Mapping[str, Any], entry: ModelEntry
) -> Iterator[Finding]:
    """Yield what a model's description and its entry in the configuration do not agree on."""
    asked = {
        "source": entry["source"],
        "revision_asked_for": entry["revision"],
        "trust_remote_code": entry["trust_remote_code"],
        "template_options": options_of(entry),
    }
    for name, expected in asked.items():
        found = description.get(name)
        if found != expected:
            yield Finding("pins", path, f"{name} {expected}", str(found))


def _pin(files: Files, model: str, description: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a pinned revision that differs from the model's description."""
    path = f"results/revisions/{model}.json"
    if not files.at(path).is_file():
        return  # found missing
    try:
        pin = given_object(files.at(path))
    except UserError as error:
        yield Finding("pins", path, "the pin of a model", str(error))
        return
    there = [pin.get(name) for name in ("source", "asked_for", "revision")]
    if there != [description.get(n) for n in ("source", "revision_asked_for", "revision")]:
        expected = f"the revision that results/models/{model}.json describes"
        yield Finding("pins", path, expected, str(pin.get("revision")))


# What an export leaves out of any study.
OF_NO_USE = ("results/leases/", "results/journal/", "results/checkpoints/")
QUOTING_TABLE = "results/tables/disagreements."  # only its rows tell of which datasets they are
TELLING = (".parquet", ".json")  # files that say whose settings made them


def check_settings(
    files: Files, record: StudyRecord, study: Study, asked_for: Identities
) -> list[Finding | Note]:
    """Return every deviation from the study's record."""
    grid = study.grid
    return [
        *_identities(files, asked_for),
        *check_descriptions(files, grid),
        *_datasets(grid),
        *_rubrics(record),
        *_limits(files, grid),
        *_held_out(files, study),
        *_left_out(files, record),
    ]


def _identities(files: Files, asked_for: Identities) -> Iterator[Finding]:
    for path, identity in asked_for.items():
        place = files.at(path)
        if not place.is_file() or place.suffix not in TELLING:
            continue  # reported missing, or identified by its record
        carried = read_artifact(place)
        for what, expected in (("identity", identity), ("schema_version", SCHEMA_VERSION)):
            found = carried.get(what)
            if found != expected and identity is not None:
                yield Finding(
                    "identities",
                    path,
                    f"{what} {short_hash(expected)}",
                    f"{what} {short_hash(None if found is None else str(found))}",
                )


def _datasets(grid: Grid) -> Iterator[Finding | Note]:
    for name, settings in sorted(grid.prepared_datasets.items()):
        path = f"results/datasets/{name}.parquet"
        if "hub" in settings and not COMMIT.fullmatch(str(settings.get("revision"))):
            found = str(settings.get("revision"))
            fix = f"set datasets.{name}.revision in the config and run snakemake"
            yield Finding("pins", path, "a commit of the hub's dataset", found, fix)
        elif "hub" in settings and "sha256" not in settings:
            yield Note("pins", path, "its commit is pinned, the content of its file is not")


def _held_out(files: Files, study: Study) -> Iterator[Finding]:
    """Yield datasets that a trained model has seen and a table calls held out."""
    paths = [f"results/tables/{name}.parquet" for name in ("training_overlap", "contrasts")]
    if not study.training.models or not all(files.at(path).is_file() for path in paths):
        return
    try:
        overlap, contrasts = (pl.read_parquet(files.at(path)) for path in paths)
        declared, datasets = study.training.declared, list(study.grid.datasets)
        found = held_out_findings(declared, datasets, overlap, contrasts)
    except pl.exceptions.PolarsError:
        return  # found altered
    for model, sentence in found:
        fix = f"declare it under trained_on in the recipe of {model} and run snakemake"
        yield Finding("held out", paths[1], "held-out datasets that were never seen", sentence, fix)


def _rubrics(study: StudyRecord) -> Iterator[Finding]:
    expected = study.contents.rubric
    for name, identity in study.contents.judges.items():
        found = identity.get("rubric", expected)
        if found != expected:
            wanted = f"judge {name} to use the annotators' rubric {short_hash(expected)}"
            fix = f"give judges.{name} the rubric data/rubric.yaml and run snakemake"
            there = f"rubric {short_hash(found)}"
            yield Finding("rubrics", "results/study.json", wanted, there, fix)


def _limits(files: Files, grid: Grid) -> Iterator[Finding]:
    path = "results/tables/rates.parquet"
    if not files.at(path).is_file():
        return
    try:
        rates = of_cells(read_joined(files.at(path)))
    except pl.exceptions.PolarsError:
        return  # found altered
    limit = grid.config["max_error_share"]
    for row in rates.filter(pl.col("n_error") > limit * pl.col("n_turns")).to_dicts():
        cell = f"{row['model']}/{row['dataset']}/t{row['temperature']:g}/{row['perturbation']}"
        turns = f"results/cells/{cell}/user_turns.parquet"
        share = row["n_error"] / row["n_turns"] - _share_without_reference(files.at(turns))
        if share <= limit or (turns in files.left_out and _shows_a_reference(grid, row)):
            continue  # only the rows tell how many items have no reference
        expected = f"at most {limit:.0%} of the turns to end in an error"
        yield Finding("coverage", turns, expected, f"{share:.0%}", AGAIN)


def _shows_a_reference(grid: Grid, row: Mapping[str, Any]) -> bool:
    with suppress(*FAULTS):  # an operator that this version does not have
        return needs_reference(grid.contents.perturbations[row["perturbation"]])
    return False


def _share_without_reference(path_to_user_turns: Path) -> float:
    """Return the share of turns that a dataset leaves out, which is no failure; 0 if unknown."""
    with suppress(*FAULTS):  # withheld, or found altered
        errors = pl.read_parquet(path_to_user_turns, columns=["error"])["error"]
        return int((errors == NO_REFERENCE).sum()) / len(errors)
    return 0.0


def _left_out(files: Files, record: StudyRecord) -> Iterator[Finding | Note]:
    """Yield artifacts that a copy lacks although the configuration does not withhold them.

    Whether a file quotes withheld rows cannot be told without them, so what is said to is noted.
    """
    if not files.left_out:
        return
    withholding = Withholding(record.config, files.results)
    quoting = {text_of(why) for why in withholding.datasets.values()}
    reasons = sorted(reasons_left_out(files.results).items())
    quotes = [path for path, reason in reasons if reason in quoting]
    if quotes:
        files_that_quote = number_of(len(quotes), "file")
        text = f"{files_that_quote} said to quote rows of a withheld dataset; not checked"
        yield Note("left out", quotes[0], text)
    for path in sorted(files.left_out.keys() - quotes):
        may_quote = bool(withholding.datasets) and path.startswith(QUOTING_TABLE)
        if not (path.startswith(OF_NO_USE) or may_quote or withholding.by_path(path)):
            expected = "to be in the archive: the configuration does not withhold it"
            fix = "ask for an archive written by `userturn export`"
            yield Finding("left out", path, expected, "left out", fix)
