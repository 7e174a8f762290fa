"""Does the study have what its configuration asks for, and name no file outside of it?"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import polars as pl

from userturn.audit.findings import Finding, Note
from userturn.config.formats import model_of
from userturn.config.model_keys import ModelEntry
from userturn.config.trust import faults_of_paths, is_of_this_folder
from userturn.errors import UserError
from userturn.export.read_archive import read_left_out
from userturn.export.withheld import Withholding, text_of
from userturn.models.fetch import COMMIT, is_local
from userturn.prompts.load_template import options_of
from userturn.storage.files import SCHEMA_VERSION, read_artifact, read_json
from userturn.storage.hashing import short_hash
from userturn.study.grid import Grid
from userturn.study.record import StudyRecord
from userturn.wording import number_of
from userturn.workflow.study import Identities, Study
from userturn.workflow.study_files import FAULTS, Files

STUDY = "results/study.json"
OPENED = "in its own folder an audit opens it; for others, put it there by a relative path"


def check_paths(files: Files, record: StudyRecord) -> list[Finding]:
    """Return the files outside of the study that a stranger's configuration names.

    An audit does not open them. A job's record that names such a file is a finding of its own.
    """
    if is_of_this_folder(files.results):
        return []
    return [
        Finding("paths", STUDY, "a file inside the study", f"{key}: {path}, {why}", OPENED)
        for key, path, why in faults_of_paths(record.config, files.results.parent)
    ]


def check_descriptions(files: Files, grid: Grid) -> Iterator[Finding | Note]:
    """Yield contradictions of a model's description with its entry or pin, and missing proofs."""
    for name, line in grid.models.items():
        path = f"results/models/{name}.json"
        if not files.at(path).is_file():
            continue
        try:
            description = read_json(files.at(path))
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
    expected_values = {
        "source": entry["source"],
        "revision_asked_for": entry["revision"],
        "trust_remote_code": entry["trust_remote_code"],
        "template_options": options_of(entry),
    }
    for name, expected in expected_values.items():
        described = description.get(name)
        if described != expected:
            yield Finding("pins", path, f"{name} {expected}", str(described))


def _pin(files: Files, model: str, description: Mapping[str, Any]) -> Iterator[Finding]:
    path = f"results/revisions/{model}.json"
    if not files.at(path).is_file():
        return  # found missing
    try:
        pin = read_json(files.at(path))
    except UserError as error:
        yield Finding("pins", path, "the pin of a model", str(error))
        return
    there = [pin.get(name) for name in ("source", "asked_for", "revision")]
    if there != [description.get(n) for n in ("source", "revision_asked_for", "revision")]:
        expected = f"the revision that results/models/{model}.json describes"
        yield Finding("pins", path, expected, str(pin.get("revision")))


# What an export leaves out of any study.
OF_NO_USE = ("results/leases/", "results/journal/", "results/checkpoints/")
QUOTING_TABLE = "results/tables/disagreements."  # of older versions; its rows tell their datasets
TELLING = (".parquet", ".json")  # files that have the identity of the settings that made them


def check_settings(
    files: Files, record: StudyRecord, study: Study, asked_for: Identities
) -> list[Finding | Note]:
    """Return all findings and notes about files that deviate from the study's record."""
    grid = study.grid
    return [
        *_identities(files, asked_for),
        *check_descriptions(files, grid),
        *_datasets(grid),
        *_rubrics(record),
        *check_held_out(files),
        *_left_out(files, record),
    ]


def _identities(files: Files, asked_for: Identities) -> Iterator[Finding]:
    for path, identity in asked_for.items():
        file = files.at(path)
        if not file.is_file() or file.suffix not in TELLING:
            continue  # reported missing, or identified by its record
        carried = read_artifact(file)
        for what, expected in (("identity", identity), ("schema_version", SCHEMA_VERSION)):
            actual = carried.get(what)
            if actual != expected and identity is not None:
                yield Finding(
                    "identities",
                    path,
                    f"{what} {short_hash(expected)}",
                    f"{what} {short_hash(None if actual is None else str(actual))}",
                )


def _datasets(grid: Grid) -> Iterator[Finding | Note]:
    for name, settings in sorted(grid.prepared_datasets.items()):
        path = f"results/datasets/{name}.parquet"
        if "hub" in settings and not COMMIT.fullmatch(str(settings.get("revision"))):
            revision = str(settings.get("revision"))
            fix = f"set datasets.{name}.revision in the config and run snakemake"
            yield Finding("pins", path, "a commit of the hub's dataset", revision, fix)
        elif "hub" in settings and "sha256" not in settings:
            yield Note("pins", path, "its commit is pinned, the content of its file is not")


def check_held_out(files: Files) -> Iterator[Finding]:
    """Yield datasets with items in training data, if the recipe does not declare them."""
    path = "results/tables/training_overlap.parquet"
    with suppress(*FAULTS):  # there is none, or it is found altered
        overlap = pl.read_parquet(files.at(path)).filter(~pl.col("seen"))
        for row in overlap.filter(pl.sum_horizontal("^n_(exact|near|contained)$") > 0).to_dicts():
            model, n_exact, n_near = row["model"], row["n_exact"], row["n_near"]
            overlapping = f"{n_exact} items in the training data of {model}, {n_near} more nearly"
            overlapping += f", {n} more as a part" if (n := row.get("n_contained")) else ""
            fix = f"declare it under trained_on in the recipe of {model} and run snakemake"
            yield Finding("held out", path, f"no item of {row['dataset']} there", overlapping, fix)


def _rubrics(study: StudyRecord) -> Iterator[Finding]:
    expected = study.contents.rubric
    for name, identity in study.contents.judges.items():
        rubric = identity.get("rubric", expected)
        if rubric != expected:
            expectation = f"judge {name} to use the annotators' rubric {short_hash(expected)}"
            fix = f"give judges.{name} the rubric {study.contents.rubric_path} and run snakemake"
            there = f"rubric {short_hash(rubric)}"
            yield Finding("rubrics", STUDY, expectation, there, fix)


def _left_out(files: Files, record: StudyRecord) -> Iterator[Finding | Note]:
    """Yield artifacts that a copy lacks although the configuration does not withhold them.

    Without the withheld rows nobody can tell whether a file quotes them, so there is only a note
    on files that were left out for that reason.
    """
    if not files.left_out:
        return
    withholding = Withholding(record.config, files.results)
    quoting = {text_of(why) for why in withholding.datasets.values()}
    reasons = sorted(read_left_out(files.results, "reason").items())
    quotes = [path for path, reason in reasons if reason in quoting]
    if quotes:
        files_that_quote = number_of(len(quotes), "file")
        text = f"{files_that_quote} said to quote rows of a withheld dataset; not checked"
        yield Note("left out", quotes[0], text)
    for path in sorted(files.left_out.keys() - quotes):
        may_quote = bool(withholding.datasets) and path.startswith(QUOTING_TABLE)
        if not (path.startswith(OF_NO_USE) or may_quote or withholding.reason_by_path(path)):
            expected = "to be in the archive: the configuration does not withhold it"
            fix = "ask for an archive written by `userturn export`"
            yield Finding("left out", path, expected, "left out", fix)
