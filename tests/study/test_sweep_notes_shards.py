"""A split of a model's items counts only if all of its shards are there."""

import pytest

from userturn.study.sweep_notes import whole_splits


@pytest.mark.parametrize(
    ("there", "whole"),
    [
        (["1of1"], [["1of1"]]),
        (["2of2", "1of3", "1of2"], [["2of2", "1of2"]]),
        (["1of2", "2of2", "1of1"], [["1of2", "2of2"], ["1of1"]]),
        (["1of2", "3of2"], []),
        (["1of13"], []),
        ([], []),
    ],
)
def test_shards_are_a_whole_split_if_each_number_is_there(
    there: list[str], whole: list[list[str]]
) -> None:
    assert whole_splits(there) == whole
