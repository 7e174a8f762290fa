"""How much of a text repeats others: the share of its word triples that occur in them.

This is Broder's containment (1997, On the resemblance and containment of documents), over all
triples of the text, so that a loop counts as often as it comes.
"""

from collections.abc import Iterable

from userturn.judges.words import words

Triple = tuple[str, str, str]


def triples(text: str) -> list[Triple]:
    """Return the triples of neighbouring words of a text, in lower case."""
    said = words(text)
    return list(zip(said, said[1:], said[2:], strict=False))


def share_repeated(text: str, others: Iterable[str]) -> float | None:
    """Return the share of a text's triples that others have; None if it has fewer than 3 words."""
    own = triples(text)
    known = {triple for other in others for triple in triples(other)}
    return sum(triple in known for triple in own) / len(own) if own else None
