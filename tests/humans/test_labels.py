"""Labels of people: what each stands for, and what they agree on."""

from tests.support.annotation_rounds import LABELS, annotated, key_of, study
from userturn.humans.labels import drawn_turns, people, weighted


def test_half_done_round_counts_what_is_done_for_all_that_was_drawn() -> None:
    # 2 of 4 drawn of 10 turns are labelled: each stands for 5 turns.
    turns, _ = study([LABELS[0]] * 10)
    key = key_of(*study([LABELS[0]] * 10), genuine=4)
    done = weighted(drawn_turns(key, turns), key.head(2), ["stratum"])
    assert done["weight"].to_list() == [5, 5]


def test_tie_of_people_is_no_majority_and_half_a_genuine_turn() -> None:
    key = key_of(*study([LABELS[0]]))
    row = people(annotated(key, ann=[LABELS[0]], bob=[LABELS[3]])).row(0, named=True)
    assert (row["label"], row["share_genuine"]) == (None, 0.5)
