"""Find the texts that end a continuation in its decoded tokens."""

from collections.abc import Callable, Sequence

Decode = Callable[[Sequence[int]], str]


def first_stop(text: str, stop_texts: Sequence[str]) -> int | None:
    """Return the position in `text` where the first stop text begins, or None."""
    places = [place for stop in stop_texts if (place := text.find(stop)) >= 0]
    return min(places, default=None)


def up_to_stop(ids: Sequence[int], stop_texts: Sequence[str], decode: Decode) -> list[int] | None:
    """Return the shortest beginning of `ids` that contains a whole stop text, or None."""
    if first_stop(decode(ids), stop_texts) is None:
        return None
    n_without, n_with = 0, len(ids)
    while n_with - n_without > 1:
        middle = (n_without + n_with) // 2
        if first_stop(decode(ids[:middle]), stop_texts) is None:
            n_without = middle
        else:
            n_with = middle
    return list(ids[:n_with])
