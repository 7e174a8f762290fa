"""Numbers with their nouns."""


def number_of(n: int, noun: str) -> str:
    """Return a number with its noun: "1 model", "1,200 models"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
