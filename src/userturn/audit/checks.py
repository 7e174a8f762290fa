"""Every check of an audit: what it finds, and how many files of its kind there are."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from userturn.audit.check_reruns import Samples
from userturn.audit.checklist import OTHER, Status
from userturn.provenance.study_files import OF_A_RUN, Files


class Check(NamedTuple):
    """A check.

    Attributes:
        finds: what a finding of it says.
        files: pattern of the artifacts that it looks at, below the results folder.
        needs: what it needs that not every audit has, if any.
    """

    finds: str
    files: str = ""
    needs: str = ""


USER_TURNS = r".*/user_turns\.parquet"
CHECKS = {
    "completeness": Check(
        "an artifact that the configuration asks for, or that a job made, is missing"
    ),
    "hashes": Check(
        "an artifact differs from what its job wrote; a drawn round differs from its copy"
    ),
    "records": Check("a provenance record was altered; an artifact has no record, or two"),
    "chain": Check(
        "an artifact was made from another version of its inputs than the one that is there"
    ),
    "orphans": Check("a table, JSON file or journal that no job made"),
    "identities": Check(
        "an artifact has other settings than the study's configuration asks for"
    ),
    "keys": Check(
        "a request's key or seed does not follow from model, prompt, settings, item and sample",
        "requests/",
    ),
    "rows": Check(
        "a plan, answer, user turn or score is missing, duplicated, out of order, or differs "
        "from the journal",
        r"(requests|answers|likelihood)/|.*/(answers|conversations|user_turns)\.parquet",
    ),
    "probes": Check(
        "the answer before a turn is not the model's own, changed as its perturbation says, or a "
        "probe does not end in the user header",
        USER_TURNS,
    ),
    "sources": Check(
        "a dataset differs from its file, a label from people's files, or a local model's files "
        "from those it was described with, where these files are at hand",
        r"datasets/|(humans|pairs)/.*/annotations\.parquet",
    ),
    "controls": Check(
        "a control turn or a labelled turn is not what planting it again gives",
        "(controls|labelled)/",
    ),
    "prompts": Check(
        "a prompt is not what the template renders, a text not what its tokens decode to",
        USER_TURNS,
        "--tokenizer",
    ),
    "verdicts": Check(
        "a verdict differs from the judge's journal, or from what the heuristic judge says",
        ".*/verdicts/",
    ),
    "grades": Check(
        "an answer gets another grade from the verifier (random ones are graded again)",
        r"grades/|.*/grades\.parquet",
    ),
    "samples": Check(
        "turns for people are not those that their rule draws, or are shown otherwise",
        r".*/human_sample\.parquet|(humans|pairs)/.*/(key|items)\.parquet",
    ),
    "tables": Check(
        "a number does not follow from what it counts; CSV, Markdown or LaTeX differ from their "
        "Parquet file, a claims sheet from the tables",
        "tables/",
    ),
    "figures": Check(
        "a figure does not show what its tables hold, or a picture not its figure", "figures/"
    ),
    "pages": Check(
        "the report or annotators' task differs from what its tables, figures and turns give",
        r"(report/index|(humans|pairs)/.*/task)\.html",
    ),
    "journals": Check(
        "a journal does not begin with what a job recorded of it; it has lines that no job "
        "recorded",
        needs="journals",
    ),
    "markers": Check(
        "what a sweep or a judge's job notes as planned, found and asked does not follow from "
        "plans and records"
    ),
    "training": Check(
        "the record of a training differs from recipe, data, base or last checkpoint",
        r"training/.*/training\.json",
    ),
    "left out": Check(
        "a file was left out of the copy although the configuration does not withhold it"
    ),
    "paths": Check(
        "a stranger's study names a file outside of it, which is not opened",
    ),
    "pins": Check(
        "a model or dataset of the hub has no commit; a model's description differs from its "
        "entry or its pin",
        "(models|revisions)/",
    ),
    "proofs": Check("a model's prompts were never checked", "models/"),
    "rubrics": Check("a judge used another rubric than the annotators", ".*/verdicts/"),
    "coverage": Check("a cell has more errors than `max_error_share` allows", USER_TURNS),
    "held out": Check(
        "a table calls a dataset held out that a model was trained on",
        r"tables/(contrasts|training_overlap)\.parquet",
    ),
    "secrets": Check("something looks like a key or password"),
    "regenerate": Check(
        "a request that is run again gives another result", needs="--regenerate"
    ),
    "rejudge": Check("a verdict that is asked for again is another", needs="--rejudge"),
}  # fmt: skip


def looked_at(files: Files, statuses: Iterable[Status]) -> dict[str, int | None]:
    """Return how many files each check looked at, None where it needs what is not there.

    A check that makes files again has looked at those that were compared.
    """
    paths = [
        status.artifact.removeprefix("results/") for status in statuses if status.state != OTHER
    ]
    counts = {name: _count(check, paths) for name, check in CHECKS.items()}
    counts["markers"] = sum(1 for path in files.makers if path.startswith(OF_A_RUN))
    if files.has_journals:
        counts["journals"] = sum(1 for _ in (files.results / "journal").rglob("[!.]*.jsonl"))
    return counts | {"left out": len(files.left_out), "records": len(files.records)}


def with_asked(
    counts: Mapping[str, int | None], samples: Samples, with_tokenizers: bool
) -> dict[str, int | None]:
    """Return the counts with those of the checks that an audit makes where it is asked to."""
    made = {
        "regenerate": samples.n_regenerated,
        "rejudge": samples.n_rejudged,
        "prompts": counts["probes"] if with_tokenizers else 0,
    }
    return {**counts, **{name: int(n) if n else None for name, n in made.items()}}


def _count(check: Check, paths: Iterable[str]) -> int | None:
    return None if check.needs else sum(1 for path in paths if re.match(check.files, path))
