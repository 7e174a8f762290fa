"""Asking: send the engine what no journal holds yet, and journal each request as it finishes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from userturn.engine import Completion, Engine
from userturn.errors import UserError
from userturn.journal import Writer
from userturn.logs import Progress, say
from userturn.outcomes import read_outcomes
from userturn.requests import Request
from userturn.signals import StopFlag
from userturn.templates import Template

Record = dict[str, Any]
SAID = ("outcome", "text")  # what a sweep needs of a record, token ids would fill its memory


class InterruptedSweepError(UserError):
    """A sweep that was told to stop before it was through."""


def to_record(request: Request, completion: Completion, template: Template) -> Record:
    """Return the journal record of a completion; its outcome is ok, empty or error."""
    ids = list(completion.token_ids)
    said = ids[:-1] if ids and ids[-1] in request.sampling.stop_token_ids else ids
    if completion.error is not None:
        outcome = "error"
    else:
        outcome = "empty" if template.is_empty(said) else "ok"
    return {
        "key": request.key,
        "item": request.item,
        "sample": request.sample,
        "outcome": outcome,
        "text": template.decode(said),
        "token_ids": ids,
        "finish_reason": completion.finish_reason,
        "error": completion.error,
    }


def is_finished(record: Record | None) -> bool:
    """Tell whether a record is there and settles its request; an error does not."""
    return record is not None and record["outcome"] != "error"


@dataclass
class Asker:
    """One model's journals, and its engine, loaded when the first request needs it.

    Attributes:
        name: of the model, for the progress lines.
        template: turns token ids into text.
        journal: returns the journal folder of a dataset.
        load: loads the engine.
        stop: says when to stop.
        n_found: requests that a journal held already.
        n_asked: requests that were sent to the engine.
    """

    name: str
    template: Template
    journal: Callable[[str], Path]
    load: Callable[[], Engine]
    stop: StopFlag
    n_found: int = 0
    n_asked: int = 0
    _loaded: list[Engine] = field(default_factory=list)

    def _engine(self) -> Engine:
        if not self._loaded:
            say(f"sweep {self.name}: loading the model")
            self._loaded.append(self.load())
        return self._loaded[0]

    def complete(self, stage: str, requests: Sequence[Request]) -> dict[str, Record]:
        """Return outcome and text of every request by key, asking what no journal holds finished.

        Raises:
            InterruptedSweepError: a signal came; all that had finished is in the journal.
        """
        keys = {request.key for request in requests}
        records: dict[str, Record] = {}
        for dataset in sorted({request.dataset for request in requests}):
            found = read_outcomes(self.journal(dataset), pl.Series(list(keys)), ["key", *SAID])
            records |= {record["key"]: record for record in found.iter_rows(named=True)}
        missing = {r.key: r for r in requests if not is_finished(records.get(r.key))}
        self.n_found += len(keys) - len(missing)
        if missing:
            for record in self._ask(stage, list(missing.values())):
                records[record["key"]] = {name: record[name] for name in SAID}
        return records

    def _ask(self, stage: str, missing: Sequence[Request]) -> Iterator[Record]:
        """Journal and yield the record of each request as it finishes."""
        engine = self._engine()
        progress = Progress(f"sweep {self.name}: {stage}", len(missing))
        with ExitStack() as stack:
            writers = {
                dataset: stack.enter_context(Writer(self.journal(dataset)))
                for dataset in sorted({request.dataset for request in missing})
            }
            self._check_stop(stage, len(missing))
            for finished in engine(missing):
                if finished is not None:
                    record = to_record(*finished, self.template)
                    writers[finished[0].dataset].append(record)
                    self.n_asked += 1
                    progress.add(len(record["token_ids"]))
                    yield record
                self._check_stop(stage, len(missing) - progress.n_done)

    def _check_stop(self, stage: str, n_left: int) -> None:
        if self.stop.reason is not None and n_left:
            raise InterruptedSweepError(
                f"sweep {self.name}: stopped by {self.stop.reason} with {n_left} {stage} left; "
                "run the same command again to go on"
            )
