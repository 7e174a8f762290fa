"""Rounds of pairs: which pairs are drawn, where the person's turn stands, and what is shown."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.paired_study import NO_PAIRS, SEED, pair_key, paired_of, people_of, turns_of
from userturn.humans.pairs import (
    FIRST,
    SIDES,
    drawn_pairs,
    keyed_pairs,
    paired_turns,
    people_turns,
    shown_pairs,
)
from userturn.storage.table_files import CELL_KEYS

COLD, WARM = turns_of(60), turns_of(60, temperature=1.0)
OTHER = turns_of(60, model="b-1b")
PAIRED = paired_of(COLD, WARM, n=60)
KEY = pair_key(PAIRED, 20)


def placed(key: pl.DataFrame) -> dict[str, tuple[str, float]]:
    """Return the cell of each conversation."""
    return {c: (m, t) for c, m, t in key.select("conversation", "model", "temperature").iter_rows()}


def test_each_cell_gives_as_many_pairs_as_asked_for_and_no_conversation_two() -> None:
    assert KEY.group_by("temperature").len().sort("temperature").rows() == [(0.0, 20), (1.0, 20)]
    assert KEY["conversation"].n_unique() == 40


def test_a_new_cell_takes_conversations_and_moves_none_between_the_others() -> None:
    everything = 60  # so that no cell is full, and all conversations are placed
    before = placed(pair_key(PAIRED, everything))
    after = placed(pair_key(paired_of(COLD, WARM, OTHER, n=60), everything))
    moved = {c for c in before if before[c] != after[c]}
    assert len(before) == len(after) == 60
    assert moved == {c for c, cell in after.items() if cell == ("b-1b", 0.0)}
    assert moved


def test_another_order_of_rows_draws_the_same_round() -> None:
    assert pair_key(PAIRED.reverse(), 20).equals(KEY)


def test_a_new_round_fills_the_new_cell_and_repeats_no_conversation() -> None:
    later = pair_key(paired_of(COLD, WARM, OTHER, n=60), 20, KEY, "later")
    assert later["model"].unique().to_list() == ["b-1b"]
    assert later.height == 20
    assert not set(later["conversation"]) & set(KEY["conversation"])
    assert not set(later["id"]) & set(KEY["id"])


@pytest.mark.parametrize("per_cell", [1, 7, 20])
def test_in_each_cell_the_person_is_first_as_often_as_second_or_once_more(per_cell: int) -> None:
    counts = pair_key(PAIRED, per_cell).group_by(CELL_KEYS).agg((pl.col("person") == FIRST).sum())
    assert all(abs(2 * n - per_cell) <= 1 for n in counts["person"])


def test_the_person_is_first_in_the_only_pair_of_about_half_of_the_cells() -> None:
    cells = [turns_of(400, model=f"m{k}") for k in range(40)]
    first = (pair_key(paired_of(*cells, n=400), 1)["person"] == FIRST).sum()
    assert 10 <= first <= 30  # 40 fair coins: outside with a probability of 0.001


def test_places_do_not_depend_on_any_text() -> None:
    longer = COLD.with_columns(text=pl.lit("x" * 500 + " ") + pl.col("item"))
    assert pair_key(paired_of(longer, WARM, n=60), 20).equals(KEY)


def test_order_of_the_page_says_nothing_of_the_places() -> None:
    assert KEY["id"].is_sorted()
    halves = [part.filter(pl.col("person") == FIRST).height for part in (KEY[:20], KEY[20:])]
    assert min(halves) >= 4  # 20 of 40 are first: fewer than 4 in a half has a chance of 0.0001


def test_failed_cut_and_equal_turns_are_in_no_pair_with_the_reason() -> None:
    turns = turns_of(5).with_columns(
        outcome=pl.Series(["ok", "error", "empty", "ok", "ok"]),
        finish_reason=pl.Series(["stop", None, "stop", "length", "stop"]),
        text=pl.Series(
            ["mine", None, "<|im_end|>", "cut of", " What a person\n wrote 4<|im_end|>"]
        ),
    )
    paired = paired_of(turns, n=5)
    assert paired["left_out"].to_list() == [None, "failed", "failed", "cut", "same"]
    assert pair_key(paired, 5)["item"].to_list() == ["i0000"]


def test_whether_a_turn_can_be_shown_does_not_move_its_conversation_to_another_cell() -> None:
    cut = WARM.with_columns(finish_reason=pl.lit("length"))
    kept = placed(pair_key(PAIRED, 60))
    left = placed(pair_key(paired_of(COLD, cut, n=60), 60))
    assert left == {c: cell for c, cell in kept.items() if cell[1] == 0}


def test_several_turns_after_one_conversation_make_one_pair() -> None:
    twice = pl.concat(
        [WARM, WARM.with_columns(sample=pl.lit(1, pl.Int64), key=pl.col("key") + " again")]
    )
    key = pair_key(paired_turns(twice, people_of(60), []), 60)
    assert key.height == 60
    assert 15 <= key["sample"].sum() <= 45  # 60 fair coins


def test_both_turns_are_shown_without_end_tokens_after_the_datasets_answer() -> None:
    people = people_of(60).with_columns(
        reference_user_turn=pl.lit("  <|im_start|>user\nA person's words<|endoftext|>\r\n ")
    )
    items = shown_pairs(KEY, pl.concat([COLD, WARM]), people, ["<|im_end|>"])
    assert items["id"].to_list() == KEY["id"].to_list()
    for row, person, item in zip(items["turns"], KEY["person"], KEY["item"], strict=True):
        texts = dict(zip(SIDES, row, strict=True))
        assert texts.pop(person) == "A person's words"
        assert list(texts.values()) == [f"A machine's words {int(item[1:])}"]
    first = items["conversation"][0].to_list()
    assert [message["role"] for message in first] == ["user", "assistant"]
    assert first[1]["text"] == "An answer of the dataset."


def test_a_round_without_any_pair_is_empty() -> None:
    key = keyed_pairs(drawn_pairs(PAIRED.clear(), NO_PAIRS, 20, SEED), "pairs", SEED)
    assert key.height == 0


def test_people_wrote_after_the_answer_that_ends_the_context_of_the_items_own_messages(
    tmp_path: Path,
) -> None:
    asked, answered = {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}
    more = {"role": "user", "content": "Really?"}
    rows = [
        ("replied", [asked], [asked, answered], "Really?"),
        ("later", [asked, answered, more], [asked, answered, more, answered], "Ah."),
        ("other answer", [more], [asked, answered], "Really?"),
        ("no reply", [asked], None, None),
        ("blank", [asked], [asked, answered], " \n"),
    ]
    names = ["item", "messages", "reference_context", "reference_user_turn"]
    path = tmp_path / "talks.parquet"
    pl.DataFrame(rows, schema=names, orient="row").write_parquet(path)
    found = people_turns([str(path)])
    assert found["item"].to_list() == ["replied", "later"]
    assert found["dataset"].unique().to_list() == ["talks"]
    assert found["conversation"].n_unique() == 1  # the later one quotes the earlier reply
    assert found["messages"][0].to_list() == [asked]
