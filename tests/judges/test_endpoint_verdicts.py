"""An endpoint that misbehaves: every turn ends with one verdict or one stated reason."""

import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.journal_lines import read_journal
from tests.support.judge_server import (
    BREAKS_OFF,
    DRIP,
    GENUINE,
    HANG,
    Asked,
    completion,
    http,
    judge_server,
    says,
)
from tests.support.judged_cell import cell, judge, settings, spent, verdicts_of
from userturn.endpoints import http_client as endpoint
from userturn.endpoints.concurrency import Pace
from userturn.errors import UserError
from userturn.judges import endpoint_verdicts as endpoint_judging
from userturn.judges.endpoint import identity, price
from userturn.judges.verdict import ERROR, Verdict, together

pytestmark = pytest.mark.slow

TURNS = [f"How hot is oil number {i}?" for i in range(12)]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "FIRST_WAIT", 0.02)


def test_reply_becomes_the_verdict_and_its_tokens_the_ledger(tmp_path: Path) -> None:
    with judge_server() as server:
        table = verdicts_of(judge(tmp_path, server.url), cell(tmp_path, *TURNS))
    assert table["label"].unique().to_list() == ["genuine_followup"]
    assert table["genuine"].all() and table["unscored_reason"].null_count() == 12
    total = spent(tmp_path)
    assert (total.n_requests, total.n_verdicts, total.n_unmetered) == (12, 12, 0)
    assert (total.input_tokens, total.cached_tokens, total.output_tokens) == (
        12 * 900,
        12 * 512,
        12 * 40,
    )


def test_what_a_server_cut_is_unscored_with_that_reason_and_asked_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 900 tokens are read: enough for the rubric, and for no conversation of 200,000 characters.
    turns = ["Is the oil hot?", "".join(f"Is oil {i} hot? " for i in range(12_000)), "Why?"]
    with judge_server() as server:
        table = verdicts_of(judge(tmp_path, server.url), cell(tmp_path, *turns))
    assert table.sort("item")["unscored_reason"].to_list() == [
        None,
        "the server cut the conversation",
        None,
    ]
    assert len(server.asked) == 3
    assert capsys.readouterr().out.count("cuts what it is sent (900 tokens read of ") == 1


def test_a_letter_that_repeats_is_few_tokens_and_cut_by_nobody(tmp_path: Path) -> None:
    with judge_server() as server:
        table = verdicts_of(judge(tmp_path, server.url), cell(tmp_path, "a" * 200_000))
    assert table["label"].to_list() == ["genuine_followup"]


def test_request_is_what_the_entry_says(tmp_path: Path) -> None:
    with judge_server() as server:
        verdicts_of(judge(tmp_path, server.url), cell(tmp_path, "Why?"))
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert (asked.body["model"], asked.body["max_tokens"]) == ("m", 100)
    schema = asked.body["response_format"]["json_schema"]
    assert schema["strict"] and list(schema["schema"]["properties"]) == [
        "rationale",
        "label",
        "genuine",
    ]
    assert "authorization" not in asked.headers.lower()


@pytest.mark.parametrize(
    ("form", "sent"), [("json_object", {"type": "json_object"}), ("text", None)]
)
def test_form_of_reply_is_asked_for(tmp_path: Path, form: str, sent: Any) -> None:
    with judge_server() as server:
        table = verdicts_of(judge(tmp_path, server.url, reply=form), cell(tmp_path, "Why?"))
    assert server.asked[0].body.get("response_format") == sent
    assert table["genuine"].to_list() == [True]


def badly(number: int) -> bytes | None:
    """Return the nth of many ways to answer badly, the first time that a turn is asked about."""
    ways: list[bytes | None] = [
        http(500, b"oops"),
        http(503, b"{}", "Retry-After: 0"),
        http(429, b"slow down", "Retry-After: 0"),
        None,  # hangs up
        BREAKS_OFF + b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + b'{"choices"',
        BREAKS_OFF + b"nonsense\r\n\r\n",
        completion('{"rationale": "half'),
        completion({"rationale": "r", "label": "great", "genuine": True}),
        completion({"rationale": "r", "label": "generic", "sure": True}),
        completion(None),
        completion("x" * 10_000_000),
        http(200, b"[]"),
    ]
    return ways[number]


def turn_of(asked: Asked) -> int:
    """Return the number of the oil that a request is about."""
    return int(asked.body["messages"][1]["content"].rpartition("oil number ")[2].split("?")[0])


def test_every_turn_is_scored_where_the_second_answer_is_good(tmp_path: Path) -> None:
    seen: set[int] = set()

    def answer(asked: Asked) -> bytes | None:
        number = turn_of(asked)
        if number in seen:
            return completion(GENUINE)
        seen.add(number)
        return badly(number)

    with judge_server(answer) as server:
        table = verdicts_of(judge(tmp_path, server.url), cell(tmp_path, *TURNS))
    assert table["genuine"].to_list() == [True] * 12
    assert spent(tmp_path).n_requests == len(server.asked) == 24


def test_every_turn_has_one_stated_reason_where_all_answers_are_bad(tmp_path: Path) -> None:
    with judge_server(lambda asked: badly(turn_of(asked))) as server:
        table = verdicts_of(judge(tmp_path, server.url), cell(tmp_path, *TURNS))
        # 6 ways that are tried 3 times, 6 replies that are asked for once more
        assert spent(tmp_path).n_requests == len(server.asked) == 6 * 3 + 6 * 2
    reasons = table["unscored_reason"].to_list()
    assert table["label"].null_count() == table["genuine"].null_count() == 12
    assert [reason.startswith("judge error: ") for reason in reasons] == [True] * 6 + [False] * 6
    keys = "the object's keys are not rationale, label and genuine"
    assert reasons[8] == f"{keys}; asked again: {keys}"
    held = read_journal(tmp_path / "journal/judges/j/d")
    raw = [r["reply"] for r in held.values() if r["outcome"] == "unscored"]
    assert len(raw) <= 6 and all(len(reply) < 5_000 for reply in raw)


def test_key_that_a_refusal_quotes_stays_out_of_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-canary-7a1c90")
    with judge_server(lambda _: completion(None, refusal="Not with sk-canary-7a1c90!")) as server:
        one = judge(tmp_path, server.url, key_variable="JUDGE_KEY")
        verdicts_of(one, cell(tmp_path, "Why?"))
    (record,) = read_journal(one.journal("d")).values()
    assert record["reply"].startswith("Not with ")
    assert "sk-canary" not in record["reply"]


@pytest.mark.parametrize("bad", [HANG, DRIP + completion(GENUINE)], ids=["hang", "drip"])
def test_reply_that_does_not_come_in_time_is_given_up(tmp_path: Path, bad: bytes) -> None:
    with judge_server(lambda _: bad) as server:
        slow = judge(tmp_path, server.url, timeout=0.3, attempts=2)
        table = verdicts_of(slow, cell(tmp_path, "Why?"))
    assert "no whole reply within 0.3 s, after 2 attempts" in table["unscored_reason"][0]
    assert spent(tmp_path).n_unmetered == 2


def test_retry_after_is_honoured(tmp_path: Path) -> None:
    times: list[float] = []

    def answer(asked: Asked) -> bytes:
        times.append(time.monotonic())
        return completion(GENUINE) if asked.number else http(429, b"", "Retry-After: 1")

    with judge_server(answer) as server:
        verdicts_of(judge(tmp_path, server.url), cell(tmp_path, "Why?"))
    assert times[1] - times[0] >= 1


def test_broken_endpoint_stops_the_cell_and_keeps_what_was_got(tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        return completion(GENUINE) if asked.number < 5 else http(400, b"closed")

    turns = [f"Turn {i}?" for i in range(200)]
    with judge_server(answer) as server:
        with pytest.raises(
            UserError, match=r"20 questions in a row .* the first: status 400: closed"
        ):
            verdicts_of(judge(tmp_path, server.url, concurrency=1), cell(tmp_path, *turns))
        assert len(server.asked) == 5 + 20
    held = read_journal(tmp_path / "journal/judges/j/d")
    assert sum(record["outcome"] == "ok" for record in held.values()) == 5


def test_cell_over_its_error_limit_fails_and_the_next_run_asks_the_rest(tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        return http(400, b"closed") if turn_of(asked) < 6 else completion(GENUINE)

    asked_about = cell(tmp_path, *TURNS)
    refused = pytest.raises(UserError, match="6 of 12 questions ended in an error")
    with judge_server(answer) as server, refused:
        verdicts_of(judge(tmp_path, server.url, max_error_share=0.4), asked_about)
    with judge_server() as server:
        table = verdicts_of(judge(tmp_path, server.url), asked_about)
        assert len(server.asked) == 6
    assert table["genuine"].to_list() == [True] * 12


def test_no_verdict_is_paid_twice_over_cells_with_equal_turns(tmp_path: Path) -> None:
    with judge_server() as server:
        first = cell(tmp_path, *TURNS, "Why?", "Why?")
        verdicts_of(judge(tmp_path, server.url), first)
        second = cell(tmp_path, *TURNS, "When?", name="cells/n/d/t1/none")
        verdicts_of(judge(tmp_path, server.url), second)
        # 14 questions of the first cell, of which each is about an item of its own; 1 is new.
        assert len(server.asked) == 14 + 1


def test_cell_in_parts_is_judged_as_in_one_and_no_part_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with judge_server() as server:
        one = judge(tmp_path, server.url)
        whole = verdicts_of(one, cell(tmp_path, *TURNS))
        n_asked = len(server.asked)
        monkeypatch.setattr(endpoint_judging, "PART", 4)
        assert verdicts_of(one, cell(tmp_path, *TURNS)).equals(whole)
        assert len(server.asked) == n_asked
        again = verdicts_of(judge(tmp_path / "b", server.url), cell(tmp_path / "b", *TURNS))
    assert again.equals(whole) and len(server.asked) == 2 * n_asked


def test_errors_of_all_parts_are_held_against_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_judging, "PART", 5)

    def answer(asked: Asked) -> bytes | None:
        return http(400, b"{}") if turn_of(asked) in (0, 1, 11) else completion(GENUINE)

    with judge_server(answer) as server:
        with pytest.raises(UserError, match="3 of 12 questions ended in an error"):
            verdicts_of(judge(tmp_path, server.url, max_error_share=0.2), cell(tmp_path, *TURNS))
        assert not list(tmp_path.rglob("verdicts.parquet"))
        verdicts_of(judge(tmp_path, server.url, max_error_share=0.25), cell(tmp_path, *TURNS))


def test_changed_price_address_or_pace_asks_nothing_and_a_changed_rubric_all(
    tmp_path: Path,
) -> None:
    rubric = tmp_path / "rubric.yaml"
    text = (Path(__file__).resolve().parents[2] / "data/rubric.yaml").read_text()
    rubric.write_text(text)
    with judge_server() as server:
        about = cell(tmp_path, *TURNS)

        def n_asked(**changes: Any) -> int:
            before = len(server.asked)
            verdicts_of(judge(tmp_path, server.url, rubric=str(rubric), **changes), about)
            return len(server.asked) - before

        assert n_asked() == 12
        other = server.url.replace("127.0.0.1", "localhost")
        assert n_asked(base_url=other, concurrency=1, timeout=9, price={"input": 9}) == 0
        assert n_asked(settings={"max_tokens": 101}) == 12
        rubric.write_text(text.replace("such as thanks", "such as a greeting"))
        assert n_asked() == 12


def test_no_more_is_in_flight_than_allowed_and_more_than_at_first(tmp_path: Path) -> None:
    turns = [f"Turn {i}?" for i in range(60)]
    with judge_server(delay=0.03) as server:
        verdicts_of(judge(tmp_path, server.url), cell(tmp_path, *turns))
    assert 4 < server.n_most <= 8


def test_refusals_of_speed_halve_the_pace() -> None:
    pace = Pace(most=32, limit=16)
    pace.slowed()
    assert pace.limit == 8
    pace.slowed()  # told to all that were in flight together, at once: counts again only later
    assert pace.limit in (4, 8)


def test_turn_that_was_never_written_is_not_judged(tmp_path: Path) -> None:
    about = cell(tmp_path, "Why?", "x")
    path = Path(about.path_to_user_turns)
    turns = pl.read_parquet(path).with_columns(
        outcome=pl.Series(["ok", "error"]), error=pl.Series([None, "out of memory"])
    )
    turns.write_parquet(path)
    with judge_server() as server:
        table = verdicts_of(judge(tmp_path, server.url), about)
    assert table["unscored_reason"].to_list() == [None, "no user turn: out of memory"]
    assert len(server.asked) == 1


def by_order(asked: Asked) -> bytes:
    """Answer `generic` where the rubric's first label stands first, and else `unrelated`."""
    system = asked.body["messages"][0]["content"]
    is_forward = system.index("- genuine_followup:") < system.index("- degenerate:")
    return says("generic" if is_forward else "unrelated")


def test_every_second_draw_has_the_labels_in_reverse_and_no_draw_is_asked_twice(
    tmp_path: Path,
) -> None:
    turns = cell(tmp_path, "Why?", "", "How hot?")
    with judge_server(by_order) as server:
        one = judge(tmp_path, server.url, draws=3)
        table = verdicts_of(one, turns)
        assert len(server.asked) == 9
        verdicts_of(one, turns)
        assert len(server.asked) == 9
    assert table["label"].to_list() == ["generic"] * 3
    assert table["rationale"].to_list() == ["2 of 3 draws: r"] * 3


def test_a_judge_with_draws_asks_anew_and_says_of_how_many_draws_its_label_is(
    tmp_path: Path,
) -> None:
    turns = cell(tmp_path, "Why?")
    with judge_server() as server:
        before = verdicts_of(judge(tmp_path, server.url), turns)
        with_two = verdicts_of(judge(tmp_path, server.url, draws=2), turns)
    assert len(server.asked) == 3  # the identity of the second judge is another
    assert before["rationale"].to_list() == ["It takes up the oil."]
    assert with_two["rationale"].to_list() == ["2 of 2 draws: It takes up the oil."]


def test_as_many_draws_of_two_labels_give_the_first_and_an_error_is_asked_again() -> None:
    one, other = Verdict("generic", "a"), Verdict("unrelated", "b")
    refused, failed = Verdict(None, None, "refused"), Verdict(None, None, f"{ERROR}no reply")
    assert together([one]) is one
    assert together([other, one, one, other]).label == "unrelated"
    assert together([refused, one]) == Verdict("generic", "1 of 2 draws: a")
    assert together([refused, refused]) == refused
    assert together([one, failed, one]) == failed


def test_draws_are_in_the_identity_where_they_are_asked_for_and_cost_as_many_times() -> None:
    entry = settings("http://127.0.0.1:1", price={"input": 1, "output": 2})
    assert "draws" not in identity(entry)
    assert identity(entry | {"draws": 3})["draws"] == 3
    once, thrice = price(entry, 10, 500), price(entry | {"draws": 3}, 10, 500)
    assert once is not None and thrice is not None
    assert thrice == pytest.approx([3 * cost for cost in once])
