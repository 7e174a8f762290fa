"""Whole studies of models whose truth is known print no more that is false than they promise."""

from concurrent.futures import ProcessPoolExecutor

import pytest

from benchmarks.known_studies import Claim, claims_of, summary, truth_of
from tests.support.known_models import COPIES, REACTS, Truth, true_label
from userturn.stats.proportions import exact_limits, wilson

N_STUDIES = 20
# False of those made, at most 5%: what a study prints with limits or a test.
PROMISED = (
    *("the first sentence", "a rate by the judge", "a corrected rate", "above the floor"),
    *("share that reacts", "some turns react", "accuracy", "change", "corrected change"),
    *("there is a change", "near zero", "no change", "coupled over items", "finds the answer"),
)


def test_a_turn_reacts_only_to_the_answer_that_it_names() -> None:
    answer = "This is about sums-007, says m."
    assert true_label(answer, f"{REACTS} sums-007 by m.") == "genuine_followup"
    assert true_label(answer, f"{REACTS} sums-008 by m.") == "unrelated"
    assert true_label(answer, f"{COPIES} sums-007 by m.") == "prompt_restate"
    assert true_label(answer, "") == "degenerate"


def test_models_write_as_often_as_they_are_told_to() -> None:
    share = {("m", 0.0, "none"): 0.22}
    truth = Truth(1, share, {"m": 0.3})
    items = [f"sums-{n:03d}" for n in range(900)]
    reacts = sum(truth.kind("m", 0.0, "none", item) == REACTS for item in items)
    right = sum(truth.is_right("m", item) for item in items)
    for found, wanted in ((reacts, 0.22), (right, 0.3)):
        limits = wilson(found, len(items), 0.9999)
        assert limits.lower is not None and limits.upper is not None
        assert limits.lower < wanted < limits.upper


@pytest.mark.slow
def test_a_study_makes_claims_of_every_kind() -> None:
    found = claims_of(27)
    assert {claim.what for claim in found} >= {*PROMISED} - {"near zero", "no change"}
    assert truth_of(27).share  # of a design in which something reacts
    assert sum(claim.is_true for claim in found) / len(found) > 0.5


@pytest.mark.slow
@pytest.mark.long
def test_of_twenty_studies_no_kind_of_claim_is_false_too_often() -> None:
    with ProcessPoolExecutor(2) as pool:
        claims: list[Claim] = [
            c for one in pool.map(claims_of, range(1, N_STUDIES + 1)) for c in one
        ]
    by_kind = [claim._replace(where="") for claim in claims if claim.what in PROMISED]
    too_often = {}
    for row in summary(by_kind).to_dicts():
        if row["n_made"]:
            # Claims of one study share its turns: as many independent ones as there are studies.
            share = wilson(row["n_false"], row["n_made"])
            worth = min(row["n_made"], N_STUDIES)
            lower = exact_limits(wilson(round(worth * (share.estimate or 0)), worth), 0.998).lower
            if lower is not None and lower > 0.05:
                too_often[row["what"]] = share
    assert too_often == {}
