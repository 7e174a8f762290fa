"""Asking: what the journal holds is not asked, what finishes is kept, whatever happens next."""

import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.journal_lines import read_journal, records_of
from userturn.generation.ask_engine import InterruptedSweepError, RequestRunner, strip_header
from userturn.generation.plan_files import Plan, write_plan
from userturn.generation.planner import Planned
from userturn.models.requests import Completion, Engine, Request, Sampling
from userturn.processes import StopFlag
from userturn.prompts.chat_template import Prompt

END = 2
SAMPLING = Sampling(0, 1, 0, 0, 8, (END,), None)


class Words:
    """Stands in for a template: token 9 is a special token, others are letters."""

    def decode(self, token_ids: Iterable[int]) -> str:
        return "".join("<|x|>" if i == 9 else chr(ord("a") + i) for i in token_ids)

    def is_empty(self, token_ids: Iterable[int], text: str) -> bool:
        return all(i == 9 for i in token_ids)


def request(key: str, dataset: str = "d") -> Request:
    return Request(key, dataset, f"item-{key}", 0, Prompt("", (1,)), SAMPLING)


def runner(
    folder: Path, engine: Engine | None = None, stop: StopFlag | None = None
) -> RequestRunner:
    def load() -> Engine:
        assert engine is not None, "the engine was loaded though nothing was missing"
        return engine

    return RequestRunner("m", Words(), lambda dataset: folder / dataset, load, stop or StopFlag())


def complete(one: RequestRunner, folder: Path, *requests: Request) -> dict[str, dict[str, Any]]:
    """Have planned requests asked; return what the journal of dataset `d` then holds."""
    planned = [Planned(i, asked.item, 0, asked) for i, asked in enumerate(requests)]
    plans = []
    for dataset in sorted({asked.dataset for asked in requests}):
        mine = [row for row in planned if row.request and row.request.dataset == dataset]
        path = folder / "plans" / f"{dataset}.parquet"
        write_plan([row.columns for row in mine], path, "identity", {})
        plans.append(Plan(path, dataset, SAMPLING))
    one.complete("turns", plans)
    return read_journal(folder / "d")


def engine_of(**written: Completion) -> Engine:
    """Return an engine that gives canned completions in the order asked."""

    def generate(requests: Iterable[Request]) -> Iterator[tuple[Request, Completion]]:
        for one in requests:
            yield one, written.get(one.key, Completion((5, END), "stop"))

    return generate


def test_finished_requests_are_not_asked_again(tmp_path: Path) -> None:
    complete(runner(tmp_path, engine_of()), tmp_path, request("a"), request("b"))
    again = runner(tmp_path)
    assert set(complete(again, tmp_path, request("a"), request("b"))) == {"a", "b"}
    assert (again.n_in_journal, again.n_asked) == (2, 0)


def test_equal_requests_are_asked_once(tmp_path: Path) -> None:
    one = runner(tmp_path, engine_of())
    complete(one, tmp_path, request("a"), request("a"))
    assert (one.n_asked, len(records_of(tmp_path / "d"))) == (1, 1)


def test_each_dataset_has_a_journal_of_its_own(tmp_path: Path) -> None:
    complete(runner(tmp_path, engine_of()), tmp_path, request("a", "d"), request("b", "e"))
    assert set(read_journal(tmp_path / "e")) == {"b"}


@pytest.mark.parametrize(
    ("completion", "outcome", "text"),
    [
        (Completion((5, 6, END), "stop"), "ok", "fg"),
        (Completion((5, 6), "length"), "ok", "fg"),
        (Completion((9, 5), "length"), "ok", "<|x|>f"),  # special tokens are kept
        (Completion((END,), "stop"), "empty", ""),
        (Completion((9, 9, END), "stop"), "empty", "<|x|><|x|>"),
        (Completion((), "error", "ValueError: too long"), "error", ""),
    ],
)
def test_every_completion_has_one_of_three_outcomes(
    tmp_path: Path, completion: Completion, outcome: str, text: str
) -> None:
    record = complete(runner(tmp_path, engine_of(a=completion)), tmp_path, request("a"))["a"]
    assert (record["outcome"], record["text"]) == (outcome, text)
    assert record["token_ids"] == list(completion.token_ids)


def test_errors_are_asked_again(tmp_path: Path) -> None:
    refuses = engine_of(a=Completion((), "error", "no"))
    assert complete(runner(tmp_path, refuses), tmp_path, request("a"))["a"]["outcome"] == "error"
    records = complete(runner(tmp_path, engine_of()), tmp_path, request("a"))
    assert records["a"]["outcome"] == "ok"


def test_engine_that_dies_loses_nothing_that_had_finished(tmp_path: Path) -> None:
    def dies(requests: Iterable[Request]) -> Iterator[tuple[Request, Completion]]:
        yield next(iter(requests)), Completion((5, END), "stop")
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        complete(runner(tmp_path, dies), tmp_path, request("a"), request("b"))
    assert set(read_journal(tmp_path / "d")) == {"a"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_signal_stops_after_what_has_finished_and_says_how_much_is_left(
    tmp_path: Path, number: signal.Signals
) -> None:
    def signalled(requests: Iterable[Request]) -> Iterator[tuple[Request, Completion]]:
        for one in requests:
            if one.key == "b":
                signal.raise_signal(number)
            yield one, Completion((5, END), "stop")

    before = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)}
    stop = StopFlag()
    stop.listen()
    try:
        with pytest.raises(InterruptedSweepError, match=rf"{number.name} with 2 turns left"):
            complete(runner(tmp_path, signalled, stop), tmp_path, *map(request, "abcd"))
    finally:
        for n, handler in before.items():
            signal.signal(n, handler)
    assert set(read_journal(tmp_path / "d")) == {"a", "b"}


def test_signal_during_loading_stops_before_the_first_request(tmp_path: Path) -> None:
    with pytest.raises(InterruptedSweepError, match="1 turns left"):
        complete(runner(tmp_path, engine_of(), StopFlag("SIGTERM")), tmp_path, request("a"))
    assert not records_of(tmp_path / "d")


def test_signal_between_two_steps_does_not_wait_for_a_request_to_finish(tmp_path: Path) -> None:
    stop = StopFlag()

    def endless(requests: Iterable[Request]) -> Iterator[tuple[Request, Completion] | None]:
        yield next(iter(requests)), Completion((5, END), "stop")
        while True:
            stop.set("SIGTERM")
            yield None

    with pytest.raises(InterruptedSweepError, match="1 turns left"):
        complete(runner(tmp_path, endless, stop), tmp_path, request("a"), request("b"))
    assert set(read_journal(tmp_path / "d")) == {"a"}


def test_signal_after_the_last_request_changes_nothing(tmp_path: Path) -> None:
    stop = StopFlag()

    def late(requests: Iterable[Request]) -> Iterator[tuple[Request, Completion]]:
        for one in requests:
            stop.set("SIGTERM")
            yield one, Completion((5, END), "stop")

    assert set(complete(runner(tmp_path, late, stop), tmp_path, request("a"))) == {"a"}


@pytest.mark.parametrize(
    ("written", "turn"),
    [
        ("<|end|>\n\nWhy?", "Why?"),
        ("<|end|>Why?", "Why?"),
        ("\nWhy?", "Why?"),
        ("Why?", "Why?"),
        ("<b>Why?", "<b>Why?"),
    ],
)
def test_what_a_model_writes_of_the_rest_of_a_header_is_no_part_of_its_turn(
    written: str, turn: str
) -> None:
    assert strip_header(written, "<|end|>\n\n") == turn
