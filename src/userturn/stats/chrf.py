"""chrF: how many character n-grams two texts share, as sacrebleu computes it for a sentence."""

from collections import Counter

LONGEST = 6  # characters of an n-gram
BETA = 2  # recall counts so many times as much as precision


def _counts(text: str, n: int) -> Counter[str]:
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def chrf(text: str, reference: str) -> float:
    """Return chrF of a text against a reference, 0 to 100 (Popović 2015, W15-3049).

    The F-score, of twice the weight of recall, of the mean precision and the mean recall of
    character n-grams of 1 to 6, of the lengths that both texts have. White space does not count.
    """
    one, other = ("".join(said.split()) for said in (text, reference))
    lengths = range(1, min(LONGEST, len(one), len(other)) + 1)
    shared = [(_counts(one, n) & _counts(other, n)).total() for n in lengths]
    if not any(shared):
        return 0.0
    precision, recall = (
        sum(found / (len(said) - n + 1) for found, n in zip(shared, lengths, strict=True))
        / len(lengths)
        for said in (one, other)
    )
    return 100 * (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)
