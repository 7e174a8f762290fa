"""Send the engine every request that no journal has yet, and journal each as it finishes."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypedDict

import polars as pl

from userturn.errors import UserError
from userturn.generation.other_names import OtherNames, finished_of, new_notes
from userturn.generation.plan_files import AnyPlan, plan_keys, requests_in_order
from userturn.generation.reasoning import read_answer
from userturn.generation.scores import ScoreRecord, score_record
from userturn.logs import Progress, say
from userturn.models.requests import (
    AnyRequest,
    Completion,
    Engine,
    Request,
    ScoringRequest,
    first_stop,
    up_to_stop,
)
from userturn.processes import StopFlag
from userturn.prompts.chat_template import Template
from userturn.storage.journal import Writer, finished_records
from userturn.storage.journal_table import finished_keys, read_asked
from userturn.study.asks import scan_plans


class GenerationRecord(TypedDict):
    """One line of the journal of answers and user turns, but for the fields of `asked_of`.

    Attributes:
        outcome: `ok`, `empty`, or `error`.
        text: the model's text, without its stop token.
        token_ids: all tokens that it wrote, the stop token included.
        finish_reason: `stop`, `length`, or `error`.
    """

    key: str
    item: str
    sample: int
    outcome: str
    text: str
    token_ids: list[int]
    finish_reason: str
    error: str | None


class InterruptedSweepError(UserError):
    """A sweep that was told to stop before it had finished."""


class JournalState(NamedTuple):
    """Which keys of some plans a journal has finished, and how many are still missing.

    Keys in `repeated` are shared by several requests.
    """

    finished: set[str]
    repeated: set[str]
    n_missing: int


def to_record(request: Request, completion: Completion, template: Template) -> GenerationRecord:
    """Return the journal record of a completion, with the outcome ok, empty or error.

    Its token ids are what the model wrote, up to the token that ends the turn. Its text is the
    decoded tokens from the end of the header to the stop. For a played turn the text is only what
    a person would see.
    """
    sampling, ids, reason = request.sampling, list(completion.token_ids), completion.finish_reason
    if sampling.stop_texts:
        cut = up_to_stop(ids, sampling.stop_texts, template.decode)
        ids, reason = (ids, reason) if cut is None else (cut, "stop")
    text_ids = ids[:-1] if ids and ids[-1] in sampling.stop_token_ids else ids
    text = template.decode(text_ids)
    stop = first_stop(text, sampling.stop_texts)
    text = strip_header(text[:stop], sampling.begins_with)
    if sampling.is_played:
        text = read_answer(text, request.prompt.text, ids, template.answer_layout).text
    if completion.error is not None:
        outcome = "error"
    else:
        is_cut = stop is not None or sampling.begins_with or sampling.is_played
        is_empty = not text.strip() if is_cut else template.is_empty(text_ids, text)
        outcome = "empty" if is_empty else "ok"
    return {
        "key": request.key,
        "item": request.item,
        "sample": request.sample,
        "outcome": outcome,
        "text": text,
        "token_ids": ids,
        "finish_reason": reason,
        "error": completion.error,
    }


def strip_header(text: str, rest: str) -> str:
    """Return a turn without the rest of the user header that the model itself wrote before it.

    A model that was shown a header up to the role may leave out a line break, or begin after it.
    So any run of the rest's words and white space at the beginning of the turn is removed. The
    turn's token ids keep it.
    """
    pieces = re.findall(r"\s|\S+", rest)
    begins = [n for n, piece in enumerate(pieces) if text.startswith(piece)]
    for piece in pieces[begins[0] :] if begins else []:
        if not text.startswith(piece):
            break
        text = text.removeprefix(piece)
    return text


def any_record(
    request: AnyRequest, completion: Completion, template: Template
) -> GenerationRecord | ScoreRecord:
    """Return the journal record of a generated or scored request."""
    if isinstance(request, ScoringRequest):
        return score_record(request, completion)
    return to_record(request, completion, template)


def asked_of(request: AnyRequest, template: Template) -> dict[str, Any]:
    """Return the fields of a record that describe its request, such as `ask` and `asked_as`.

    `n_prompt` counts the prompt's tokens. If the prompt opens reasoning, `prompt_end` is the text
    that does. A request without an ask has no such fields.
    """
    if request.ask is None:
        return {}
    named = {"ask": request.ask, "asked_as": request.asked_as}
    if isinstance(request, ScoringRequest):
        return {**named, "n_prompt": len(request.token_ids)}
    end = request.prompt.text.rstrip()
    begun = [begin for begin, _ in template.answer_layout.thinking if end.endswith(begin)]
    prompt_end = {"prompt_end": begun[0]} if begun else {}
    return {**named, "n_prompt": len(request.prompt.token_ids), **prompt_end}


class Runner(Protocol):
    """An object that completes the requests of plans, stage by stage."""

    def complete(self, stage: str, plans: Iterable[AnyPlan]) -> None:
        """Complete every request of some plans."""


@dataclass
class RequestRunner:
    """One model's journals, and its engine, loaded when the first request needs it.

    Attributes:
        name: of the model, for the progress lines.
        journal: returns the journal folder of a dataset.
        names: finds replies under other names. If it is None, no other names are tried.
        shared: returns a dataset's journal folder of another model, whose replies to equal requests
            also count for this one. It is None without such a model.
        n_in_journal: number of requests that a journal already had.
        n_asked: number of requests that were sent to the engine.
    """

    name: str
    template: Template
    journal: Callable[[str], Path]
    load: Callable[[], Engine]
    stop: StopFlag
    names: OtherNames | None = None
    shared: Callable[[str], Path] | None = None
    n_in_journal: int = 0
    n_asked: int = 0

    @cached_property
    def _engine(self) -> Engine:
        say(f"sweep {self.name}: loading the model")
        return self.load()

    def complete(self, stage: str, plans: Iterable[AnyPlan]) -> None:
        """Send every request of some plans that is not finished in a journal.

        Raises:
            InterruptedSweepError: a signal came, or the lease was lost. Every finished request is
                in the journal.
        """
        of_dataset: dict[str, list[AnyPlan]] = {}
        for plan in plans:
            of_dataset.setdefault(plan.dataset, []).append(plan)
        states = {name: self._journal_state(name, mine) for name, mine in of_dataset.items()}
        n_missing = sum(state.n_missing for state in states.values())
        if n_missing:
            waiting = (
                request
                for name, mine in of_dataset.items()
                for request in _missing(requests_in_order(mine), states[name])
            )
            lacking = [name for name in states if states[name].n_missing]
            self._ask(stage, waiting, n_missing, lacking)

    def _journal_state(self, dataset: str, plans: list[AnyPlan]) -> JournalState:
        """Return the finished and missing keys of a dataset's plans, and journal their notes."""
        requests = self._asked(dataset, plans)
        if self.names is not None:
            done, journals = finished_of(requests), self.journal(dataset).parent
            renamed = [self.names.take_over(plan, done, journals) for plan in plans]
            if any(renamed):
                requests = self._asked(dataset, plans)
        finished, keys = finished_of(requests), plan_keys(plan.path for plan in plans)
        if self.shared is not None:
            finished |= self._shared(self.shared(dataset), set(keys) - finished, dataset)
        finished &= set(keys)
        repeated = set(keys.filter(keys.is_duplicated()))
        self.n_in_journal += len(finished)
        with Writer(self.journal(dataset)) as writer:
            for plan in plans:
                for note in new_notes(plan, requests):
                    writer.append(note)
        return JournalState(finished, repeated, keys.n_unique() - len(finished))

    def _shared(self, journal: Path, lacking: set[str], dataset: str) -> set[str]:
        """Journal another model's replies to some keys, and return the keys with a reply."""
        finished = finished_keys(journal, pl.Series(sorted(lacking), dtype=pl.String))
        with Writer(self.journal(dataset)) as writer:
            for record in finished_records(journal, finished):
                writer.append(record)
        return finished

    def _asked(self, dataset: str, plans: Iterable[AnyPlan]) -> pl.DataFrame:
        """Return the journal rows of the requests in some plans (`ASKED_SCHEMA`)."""
        rows = scan_plans(plan.path for plan in plans).select("key", "ask", "asked_as").collect()
        own = self.journal(dataset)
        names = sorted({own.name, *rows["asked_as"].drop_nulls()})
        keys, asks = (rows[name].drop_nulls().unique() for name in ("key", "ask"))
        return read_asked([own.with_name(name) for name in names], keys, asks)

    def _ask(self, stage: str, waiting: Iterable[AnyRequest], n: int, datasets: list[str]) -> None:
        """Journal the record of each of `n` requests as it finishes."""
        engine = self._engine
        progress = Progress(f"sweep {self.name}: {stage}", n)
        with ExitStack() as stack:
            writers = {name: stack.enter_context(Writer(self.journal(name))) for name in datasets}
            self._check_stop(stage, n)
            for finished in engine(waiting):
                if finished is not None:
                    request, completion = finished
                    record = any_record(request, completion, self.template)
                    of_request = asked_of(request, self.template)
                    writers[request.dataset].append({**record, **of_request})
                    self.n_asked += 1
                    progress.add(len(completion.token_ids) or len(completion.logprobs))
                self._check_stop(stage, n - progress.n_done)

    def _check_stop(self, stage: str, n_left: int) -> None:
        if self.stop.reason is not None and n_left:
            raise InterruptedSweepError(
                f"sweep {self.name}: stopped by {self.stop.reason} with {n_left} {stage} left; "
                "run the same command again to continue"
            )


def _missing(requests: Iterable[AnyRequest], state: JournalState) -> Iterator[AnyRequest]:
    """Yield the first request of each unfinished key, with only repeated keys held in memory."""
    keys: set[str] = set()
    for request in requests:
        if request.key in state.finished or request.key in keys:
            continue
        if request.key in state.repeated:
            keys.add(request.key)
        yield request
