"""A number with its noun."""

from userturn.wording import number_of


def test_one_is_singular_and_everything_else_plural() -> None:
    assert [number_of(n, "item") for n in (0, 1, 2, 1200)] == [
        "0 items", "1 item", "2 items", "1,200 items",
    ]  # fmt: skip
