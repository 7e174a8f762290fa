"""Does every record belong to the job that its path names? Do markers say what was planned?"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from userturn.audit.findings import Finding, remake
from userturn.generation.plan_files import next_in_hash_order
from userturn.sources.registry import judge_rules
from userturn.storage.files import SCHEMA_VERSION, artifact, read_json
from userturn.storage.hashing import fingerprint, short_hash
from userturn.study.sweep_notes import whole_splits
from userturn.workflow.job_record import PROVENANCE, SWEEPS, JobRecord
from userturn.workflow.run_job import identity_of, inputs_of
from userturn.workflow.study import Identities, Study
from userturn.workflow.study_files import FAULTS, Files, is_hidden

SET_BACK = timedelta(hours=-1)
# What stands before a wildcard in the paths of user turns, such as the t of t0.7.
IN_PATHS = {
    name: before
    for rule in judge_rules()
    for before, name in re.findall(r"([^/{}]+)\{(\w+)\}", rule.folder)
}


def check_records(
    files: Files, required: Identities, labels: Mapping[str, Mapping[str, str]]
) -> Iterator[Finding]:
    """Yield records that belong to another job, other settings or other files of labels.

    `labels` has the sha256 of each file of people's labels, by round and path.
    """
    for path, record in files.readable:
        output = min(record["outputs"], key=lambda name: (name not in required, name))
        rule, *names = PurePosixPath(path).relative_to(PROVENANCE).with_suffix("").parts
        if not _is_of(record, rule, names):
            job = " ".join([record["rule"], *record["wildcards"].values()])
            expected = f"the record of {' '.join([rule, *names])}"
            yield Finding("records", path, expected, f"that of {job}", remake(output))
        began, ended = (record["made"].get(name) for name in ("began", "ended"))
        if not _is_in_turn(began, ended):
            expected = f"a job that began before {ended}"
            yield Finding("records", path, expected, f"one that began {began}", remake(output))
        for name, digest in labels.get(record["wildcards"].get("round", ""), {}).items():
            is_import = record["rule"].startswith("import_")
            noted = record["inputs"].get(name, None if is_import else digest)
            if noted != digest:
                expected = f"{name} with sha256 {short_hash(digest)}, as in results/study.json"
                yield Finding("records", path, expected, short_hash(noted), remake(output))
        others = {required.get(name) for name in record["outputs"]}
        own = {"identity": required.get(output), "schema_version": SCHEMA_VERSION}
        for what, expected_value in own.items():
            recorded = record[what]
            # A depth of self-play is one job that writes answers and turns, each of an identity.
            if None not in (recorded, expected_value) and recorded not in {expected_value, *others}:
                noted = f"{what} {short_hash(recorded)} in its record"
                yield Finding("identities", output, f"{what} {short_hash(expected_value)}", noted)


def check_inputs_of_tables(files: Files, study: Study) -> Iterator[Finding]:
    """Yield each of this version's tables that has an input which its record does not name."""
    for rule in study.tables.rules:
        record = files.records.get(f"results/provenance/{rule}.json")
        if record is None or record["identity"] != identity_of(study, rule):
            continue
        needs = {path for paths in inputs_of(study, rule).values() for path in paths}
        output, unnamed = min(record["outputs"]), needs - {*record["inputs"]}
        if unnamed and files.other_code(output) is None:
            noted = "its record does not name it"
            yield Finding("chain", output, f"made from {min(unnamed)}", noted)


def _is_of(record: JobRecord, rule: str, names: list[str]) -> bool:
    values = [f"{IN_PATHS.get(name, '')}{v}" for name, v in record["wildcards"].items()]
    is_named = record["rule"] == rule or {record["rule"], rule} <= {*SWEEPS}
    return is_named and sorted(values) == sorted(names)


def _is_in_turn(began: str | None, ended: str | None) -> bool:
    """Return whether a job ended after it began, with an hour's tolerance for clocks set back."""
    if began is None or ended is None:
        return True
    try:
        return datetime.fromisoformat(ended) - datetime.fromisoformat(began) >= SET_BACK
    except (ValueError, TypeError):
        return False


PLACES = ("results/sweeps/", "results/judging/", "results/served/")
NOTES = "/finished/"  # notes of the tables that a shard need not sweep


def check_markers(files: Files, required: Identities) -> Iterator[Finding]:
    """Yield the markers and notes that contradict plans and records."""
    for path in files.present:
        if not (path.startswith(PLACES) and path.endswith(".json")) or is_hidden(path):
            continue
        try:
            wrong = _wrong(files, required, path, read_json(files.at(path)))
        except FAULTS as error:
            wrong = f"not a marker ({type(error).__name__})"
        if wrong is not None:
            yield Finding("markers", path, "what plans and records say", wrong)


def _wrong(files: Files, required: Identities, path: str, content: dict[str, Any]) -> str | None:
    identity = content["artifact"]["identity"]
    if content["artifact"] != artifact(identity):
        return "another form of artifact"
    is_served = path.startswith("results/served/")
    if is_served or NOTES in path:
        if identity != content["described_as"]:
            return "a model described otherwise"
        return None if is_served else _wrong_note(files, path, content)
    pending = content["pending"]
    if pending != sorted(pending) or identity != fingerprint(pending):
        return "pending identities of another job"
    if path.startswith("results/sweeps/"):
        return _wrong_count(files, required, path, content)
    inputs = [(files.records[maker] or {})["inputs"] for maker in files.makers.get(path, [])]
    counts = {sum(name.endswith("/user_turns.parquet") for name in names) for names in inputs}
    n_cells = content["n_cells"]
    return None if counts <= {n_cells} else f"{n_cells} cells, though its job read others"


def _wrong_count(
    files: Files, required: Identities, path: str, content: dict[str, Any]
) -> str | None:
    """Return how a marker's number of requests differs from the plans, or None.

    A sweep that only had user turns left also counts the answers before them. A sweep that shows
    answers to other items also counts these in other shards, unless all were finished. Plans of
    an earlier configuration may be gone, so its markers are not compared.
    """
    shard, model = Path(path).stem, path.split("/")[2]
    pending_plans = [_plans(files, identity, shard, model) for identity in content["pending"]]
    if not all(pending_plans) or not {*content["pending"]} <= {*required.values()}:
        return None
    plans = [plan for of_identity in pending_plans for plan in of_identity]
    planned = {request for plan in plans for request in _requests(plan)}
    before = {
        kind: [
            plan
            for name, identity in required.items()
            if name.startswith(f"results/{kind}/{model}/") and identity is not None
            for plan in _plans(files, identity, shard, model)
            if any(plan.parts[-3] == cell.parts[-3] for cell in plans)
        ]
        for kind in ("answers", "candidates")
    }
    if not all(map(_shards, before["answers"])):
        return None
    more = [
        {request for plan in before["answers"] for request in _requests(plan)},
        {request for plan in before["candidates"] for request in _requests(plan)},
        {request for plan in before["answers"] for request in _borrowed_answers(plan)},
    ]
    may_be = [planned.union(*some) for n in range(4) for some in combinations(more, n)]
    counted = content["n_found"] + content["n_asked"]
    if counted in map(len, may_be):
        return None
    return f"{counted} requests, though {len(planned)} were planned"


def _shards(plan: Path) -> list[Path]:
    """Return the plans of all shards that a plan belongs to, or none if one of them is missing."""
    plans = {path.stem: path for path in sorted(plan.parent.glob("[1-9]*.parquet"))}
    of_all = (names for names in whole_splits(plans) if plan.stem in names)
    return [plans[name] for name in next(of_all, [])]


def _borrowed_answers(plan: Path) -> Iterator[tuple[str, str]]:
    """Yield (dataset, key) of the answers in other shards that `shuffled_answer` shows here."""
    tables = [pl.read_parquet(path, columns=["item", "key"]) for path in _shards(plan)]
    keys = dict(pl.concat(tables).rows())
    own, following = {*pl.read_parquet(plan, columns=["item"])["item"]}, next_in_hash_order(keys)
    lenders = {following[item] for item in own if item in following} - own
    return ((plan.parts[-3], keys[item]) for item in lenders if keys[item] is not None)


def _plans(files: Files, identity: str, shard: str, model: str) -> list[Path]:
    """Return the paths of a shard's plans with an identity, under the model's name if any.

    A renamed model's plans may be under its earlier name. Two models of equal weights have plans
    with equal identities, which differ where one of them took over replies under other names.
    """
    plans = sorted(files.results.glob(f"requests/*/*/{identity}/{shard}.parquet"))
    return [plan for plan in plans if plan.parts[-4] == model] or plans


def _requests(plan: Path) -> Iterator[tuple[str, str]]:
    keys = pl.read_parquet(plan, columns=["key"])["key"].drop_nulls()
    return ((plan.parts[-3], key) for key in keys)


def _wrong_note(files: Files, path: str, content: dict[str, Any]) -> str | None:
    model, shard = content.get("place") or path.split("/")[2], Path(path).stem
    for dataset, finished in content["finished"].items():
        folder = f"results/requests/{model}/{dataset}/"
        planned = {plan.split("/")[-2] for plan in files.hashes if plan.startswith(folder)}
        if planned and not set(finished) <= planned:
            return f"requests of {dataset} that shard {shard} has no plan for"
    for dataset, sizes in content["journals"].items():
        for name, size in sizes.items():
            path = f"results/journal/{model}/{dataset}/{name}"
            is_here = files.has_journals and path not in files.left_out
            file = files.at(path)
            if is_here and not (file.is_file() and file.stat().st_size >= size):
                return f"{size} bytes of {dataset}'s journal {name}"
    return None
