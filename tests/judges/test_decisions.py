"""What stands about a question in a journal, over replies that were taken back and kills."""

import threading
from pathlib import Path
from typing import Any

import pytest

from userturn.cli.rejudge import void_unscored
from userturn.errors import UserError
from userturn.judges import decisions
from userturn.judges.decisions import Decisions, only_writer
from userturn.storage.files import alone
from userturn.storage.journal import Writer, encode_line

KEY = "a" * 64
REFUSED = {"key": KEY, "outcome": "unscored", "reason": "the judge refused", "reply": "No."}
UNCLEAR = {"key": KEY, "outcome": "unclear", "reason": "the reply has no content", "reply": ""}
SAID = {"key": KEY, "outcome": "ok", "said": {"label": "generic", "rationale": "r"}}


def write(folder: Path, record: dict[str, object]) -> None:
    """Append a record as a judge's job does, in a file of its own."""
    found = Decisions(folder, [KEY])
    with Writer(folder) as journal:
        journal.append(found.add_round(record))


def outcome(folder: Path) -> str | None:
    found = Decisions(folder, [KEY]).get(KEY)
    return None if found is None else found.outcome


@pytest.mark.parametrize("n_rounds", [1, 2, 5])
def test_judge_that_says_the_same_again_is_heard_each_time(tmp_path: Path, n_rounds: int) -> None:
    write(tmp_path, REFUSED)
    for _ in range(n_rounds):
        assert void_unscored(tmp_path) == 1
        assert outcome(tmp_path) is None
        write(tmp_path, REFUSED)
        assert outcome(tmp_path) == "unscored"
    assert void_unscored(tmp_path) == 1


def test_taking_back_twice_without_asking_takes_back_once(tmp_path: Path) -> None:
    write(tmp_path, REFUSED)
    assert (void_unscored(tmp_path), void_unscored(tmp_path)) == (1, 0)


def test_cell_that_an_old_journal_had_lost_is_decided_by_the_next_reply(tmp_path: Path) -> None:
    for _ in range(2):  # equal lines, of which a void of the first had taken back both
        with Writer(tmp_path) as journal:
            journal.append(REFUSED)
    void_unscored(tmp_path)
    assert outcome(tmp_path) is None
    write(tmp_path, REFUSED)
    assert outcome(tmp_path) == "unscored"


def test_first_reply_counts_in_its_own_round_only(tmp_path: Path) -> None:
    write(tmp_path, UNCLEAR)
    assert Decisions(tmp_path, [KEY]).reason_of_first(KEY) == "the reply has no content"
    write(tmp_path, REFUSED)
    void_unscored(tmp_path)
    assert Decisions(tmp_path, [KEY]).reason_of_first(KEY) is None
    write(tmp_path, UNCLEAR)  # and then the job was killed
    assert Decisions(tmp_path, [KEY]).reason_of_first(KEY) == "the reply has no content"
    write(tmp_path, SAID)
    assert outcome(tmp_path) == "ok"


def test_records_of_the_first_round_are_written_as_ever(tmp_path: Path) -> None:
    found = Decisions(tmp_path, [KEY])
    assert [found.add_round(r) for r in (REFUSED, UNCLEAR, SAID)] == [REFUSED, UNCLEAR, SAID]


def test_job_that_waits_for_another_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, folder = list[str](), tmp_path / "j" / "d"
    is_waiting = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        is_waiting.set()

    def ask() -> None:
        with only_writer(folder):
            pass

    monkeypatch.setattr(decisions, "say", say)
    ask()
    assert said == []
    with alone(folder / "lock"):
        other = threading.Thread(target=ask)
        other.start()
        assert is_waiting.wait(30)
    other.join()
    assert said == ["judge j: waiting for another job that asks about 'd'"]


@pytest.mark.parametrize(
    "edit", [{"outcome": "okay"}, {"outcome": "error"}, {"outcome": "unscored"}, {"said": None}]
)
def test_an_outcome_that_no_judges_job_writes_is_told_and_gives_no_verdict(
    tmp_path: Path, edit: dict[str, Any]
) -> None:
    edited = {name: value for name, value in {**SAID, **edit}.items() if value is not None}
    (tmp_path / "a.jsonl").write_bytes(encode_line(edited))
    with pytest.raises(UserError, match="which no judge's job writes"):
        Decisions(tmp_path, [KEY])
