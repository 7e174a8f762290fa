"""Which differences of requests that were run again are findings, by what the study claims."""

import polars as pl
import pytest

from userturn.audit.check_reruns import RERUN_SCHEMA, Reruns, Samples, notes_of, unequal


def reruns(*rows: tuple[bool, bool]) -> Reruns:
    """Return reruns with equal bytes and equal tokens as given."""
    made = [
        {"key": "k", "artifact": "results/a", "row": n, "equal_bytes": b, "equal_tokens": t}
        for n, (b, t) in enumerate(rows)
    ]
    return Reruns(pl.DataFrame(made, schema=RERUN_SCHEMA))


EQUAL, OTHER_TOKENS, OTHER_TEXT = (True, True), (False, False), (False, True)


def test_text_that_is_not_what_its_tokens_spell_is_always_a_finding() -> None:
    (finding,) = unequal(reruns(*[EQUAL] * 39, OTHER_TEXT), is_exact=False)
    assert finding.expected == "the text that its tokens decode to"
    assert finding.found == "another in row 39"


def test_a_few_rows_with_other_tokens_are_a_finding_only_where_the_study_claims_exactness() -> None:
    some = reruns(*[EQUAL] * 38, OTHER_TOKENS, OTHER_TOKENS)
    assert list(unequal(some, is_exact=False)) == []
    assert [finding.found for finding in unequal(some, is_exact=True)] == [
        "another in row 38",
        "another in row 39",
    ]


@pytest.mark.parametrize(("n_other", "is_found"), [(12, False), (16, True)])
def test_many_rows_with_other_tokens_are_findings_of_any_study(
    n_other: int, is_found: bool
) -> None:
    # Wilson's lower limits of 12 and 16 in 40 are 0.181 and 0.263; 0.2 may differ.
    many = reruns(*[OTHER_TOKENS] * n_other, *[EQUAL] * (40 - n_other))
    assert len(list(unequal(many, is_exact=False))) == (n_other if is_found else 0)


def test_a_nonce_draws_the_same_again() -> None:
    samples = Samples(nonce="abc")
    assert samples.rng("x").random() == samples.rng("x").random()
    assert samples.rng("x").random() != Samples(nonce="abd").rng("x").random()


def test_an_audit_states_its_chance_to_find_a_forgery() -> None:
    # 1 - 0.99^20, 1 - 0.95^20 and 1 - 0.8^20; the row that was not run tells nothing.
    not_run = pl.DataFrame([{"key": "k", "reason": "no model"}], schema=RERUN_SCHEMA)
    made = Reruns(pl.concat([reruns(*[EQUAL] * 20).table, not_run]))
    said = [note.text for note in notes_of("regenerate", made, "texts")]
    # Wilson's lower limit of n of n is n / (n + z^2) = 20 / (20 + 3.8415).
    assert said == [
        "equal bytes 20 of 20, 100.0% [83.9%, 100.0%]; equal tokens 20 of 20, "
        "100.0% [83.9%, 100.0%]",
        "chance that 20 random texts hold a forged one: 18% if 1% are, 64% if 5% are, 99% if 20% "
        "are forged",
        "1 not run again: no model",
    ]
