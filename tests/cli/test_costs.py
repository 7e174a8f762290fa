"""`userturn costs` lists what is known of money, and corrects it with a reason."""

from argparse import Namespace
from pathlib import Path

import pytest

from userturn.cli import costs as command
from userturn.cli.terminal import Output, as_text
from userturn.endpoints.budget import Account, read_accounts
from userturn.endpoints.usage import largest_request
from userturn.errors import UserError
from userturn.judges.batch_files import Batch, note, note_uploaded, open_batches

JUDGE, PRICE = "gpt-5.4-mini", {"input": 1.0, "output": 10.0}


def given(folder: Path, **chosen: str) -> Namespace:
    nothing = {"give_up": None, "paid": None, "because": None}
    return Namespace(configfile=[], results=str(folder / "results"), **(nothing | chosen))


def shown(folder: Path) -> str:
    """Return what the command prints without more, in one line for each sentence."""
    said = command.run(given(folder))
    assert isinstance(said, Output)
    return as_text(said.parts, 200)


def accounts(folder: Path) -> Path:
    return folder / "results/journal/costs"


def asked(folder: Path) -> None:
    """Count a request of 1,000 and 100 tokens, and one whose end nobody knows."""
    with Account(accounts(folder), JUDGE, "cells/x", PRICE) as account:
        most = largest_request(2_000, 320)
        account.send(most)
        account.settle(most, {"prompt_tokens": 1_000, "completion_tokens": 100})
        account.send(most)


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """A judge's journal about 'd' with a batch whose replies could not be read."""
    journal = tmp_path / "results/journal/judges" / JUDGE / "d"
    one = Batch("file-0", ("a", "b"), (2_000, 2_000), 100, batch="batch-0")
    with Account(accounts(tmp_path), JUDGE, "batches/d", PRICE) as account:
        account.add(one.most)
    note_uploaded(journal, one)
    note(journal, "unread", one, reason="404")
    return journal


def test_costs_are_listed_by_judge_with_what_is_not_known_of_them(
    tmp_path: Path, batch: Path
) -> None:
    asked(tmp_path)
    said = shown(tmp_path)
    row = next(line.split() for line in said.splitlines() if line.startswith(JUDGE))
    # At 0.75 and 4.5 for a million of the 7,000 tokens read and 620 written.
    assert row == [JUDGE, "4", "0", "7,000", "0", "620", "3", "1", "0.0080"]
    assert "batch batch-0 of gpt-5.4-mini about d is unreadable, 2 questions" in said
    assert "until they are read: 404" in said


def test_batch_is_given_up_with_a_reason_and_stays_counted(tmp_path: Path, batch: Path) -> None:
    said = command.run(given(tmp_path, give_up="batch-0", because="lost"))
    assert (
        isinstance(said, str) and "asks its 2 questions again" in said and not open_batches(batch)
    )
    assert "batch-0 of gpt-5.4-mini about d is given up" in shown(tmp_path)
    assert sum(one.total.n_requests for one in read_accounts(accounts(tmp_path))) == 2


def test_cost_is_corrected_once_it_is_known_in_all(tmp_path: Path, batch: Path) -> None:
    asked(tmp_path)
    correction = given(tmp_path, paid=f"{JUDGE}=0.0042", because="the invoice")
    with pytest.raises(UserError, match="cannot be corrected yet, because batch batch-0 is open"):
        command.run(correction)
    command.run(given(tmp_path, give_up="batch-0", because="lost"))
    command.run(correction)
    said = shown(tmp_path)
    assert "all together 0.0042 USD of max_cost 100" in said
    assert "gpt-5.4-mini cost 0.0042 by then: the invoice" in said and "batch-0" not in said
    asked(tmp_path)
    assert "all together 0.0083 USD of max_cost 100" in shown(tmp_path)


def test_damaged_account_is_named_until_the_cost_is_said(tmp_path: Path) -> None:
    asked(tmp_path)
    (path,) = accounts(tmp_path).rglob("*.account")
    path.write_bytes(bytes(2_048))
    assert f"damaged: {path}" in shown(tmp_path)
    assert "not known: an account is damaged" in shown(tmp_path)
    command.run(given(tmp_path, paid=f"{JUDGE}=0.5", because="the invoice"))
    assert "damaged" not in shown(tmp_path)
    assert "all together 0.5000" in shown(tmp_path)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"give_up": "batch-0"}, "with `--because REASON`"),
        ({"because": "x"}, "or none of the three"),
        ({"give_up": "b", "paid": "j=1", "because": "x"}, "expected one of"),
        ({"paid": "0.4", "because": "x"}, "expected a judge and money"),
        ({"paid": f"{JUDGE}=nan", "because": "x"}, "expected a judge and money"),
        ({"paid": f"{JUDGE}=-1", "because": "x"}, "expected a judge and money"),
        ({"paid": "gpt-5.4=1", "because": "x"}, "'gpt-5.4' has cost nothing so far, did you mean"),
        ({"give_up": "batch-1", "because": "x"}, "no batch 'batch-1' is open"),
    ],
)
def test_half_a_command_is_one_sentence(
    chosen: dict[str, str], message: str, tmp_path: Path
) -> None:
    asked(tmp_path)
    with pytest.raises(UserError, match=message):
        command.run(given(tmp_path, **chosen))
