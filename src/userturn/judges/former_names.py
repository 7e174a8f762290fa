"""Decisions under names that the study no longer has: taken over, never asked again.

A question's key has no name of a judge or dataset; only its journal's folder does. A judge or
dataset that stands beside another of the same content is a measurement of its own and takes nothing
over.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from userturn.judges.decisions import Decisions, Record, decision_of
from userturn.judges.judge import Judge
from userturn.logs import say
from userturn.storage.journal import Writer, files_of_journal, read_lines, record_of
from userturn.wording import number_of


def _former_journals(judge: Judge, dataset: str) -> Iterator[Path]:
    """Yield the journals of judges, or about datasets, that the study does not have any more."""
    own = judge.journal(dataset)
    others = {*judge.names} - {judge.name}
    for folder in sorted(own.parent.parent.glob("[!.]*/[!.]*")):
        is_of_judge = folder.parent.name == judge.name
        is_known = judge.datasets is None or folder.name in judge.datasets
        is_of_dataset = folder.name == own.name or not is_known
        if folder != own and is_of_dataset and (is_of_judge or folder.parent.name not in others):
            yield folder


def former_decisions(judge: Judge, dataset: str, own: Decisions) -> list[Record]:
    """Return the final decisions under former names on keys of which the own journal has none."""
    lacking = {key for key in own.wanted if own.is_open(key)}
    found: list[Record] = []
    for folder in _former_journals(judge, dataset) if lacking else ():
        decisions = Decisions(folder, lacking)
        finished = set(filter(decisions.is_finished, lacking))
        found += _final(folder, decisions, finished)
        lacking -= finished
    return found


def _final(folder: Path, decisions: Decisions, finished: set[str]) -> Iterator[Record]:
    """Yield the record of each finished decision of a journal."""
    waiting = set(finished)
    for path in files_of_journal(folder) if finished else ():
        for lines in read_lines(path):
            for line in lines.whole:
                record = cast("Record", record_of(line))
                key = record["key"]
                is_line = key in waiting and record["outcome"] != "void"
                if is_line and decision_of(record) == decisions.get(key):
                    waiting.discard(key)
                    record.pop("of_batch", None)  # no batch of this journal's
                    yield record | {"taken_from": f"{folder.parent.name}/{folder.name}"}


def open_decisions(judge: Judge, dataset: str, wanted: Iterable[str]) -> Decisions:
    """Return a journal's decisions, with those under former names added to the journal."""
    own = Decisions(judge.journal(dataset), wanted)
    taken = former_decisions(judge, dataset, own)
    if taken:
        n = number_of(len(taken), "decision")
        say(f"judge {judge.name}: {n} on '{dataset}' taken over from a former name")
        with Writer(own.folder) as journal:
            for record in taken:
                journal.append(record)
        own.refresh()
    return own
