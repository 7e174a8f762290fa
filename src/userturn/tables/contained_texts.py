"""Items that stand inside training texts, or training texts inside them, by runs of words.

Jaccard similarity is low where one text is much longer than the other: a problem inside a request,
or half of a problem. Of GSM8K, MATH-500 and HealthBench 97% of such forms were found, and of 1,800
unrelated items none (docs/posttraining.md).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
RUN = 3  # words in a row; of Chinese and Japanese, characters
FEWEST_RUNS = 2  # runs of the shorter text: four words
SHARE = 0.8  # of the runs of the shorter text
LEAST_PART = 0.15  # of an item's runs, if the training text is the shorter one

Runs = frozenset[tuple[str, ...]]


def runs(text: str) -> Runs:
    """Return the runs of three words of a text, in lower case."""
    words = WORD.findall(text.casefold())
    return frozenset(tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1))


def contained(items: Sequence[Sequence[str]], conversations: Iterable[Sequence[str]]) -> set[int]:
    """Return the numbers of the items of which a text stands in training data, or the reverse.

    Args:
        items: the texts of each item.
        conversations: the texts of each training conversation: messages, goal and reference.
    """
    of_items = [(n, runs(text)) for n, texts in enumerate(items) for text in texts]
    places: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, (_, found) in enumerate(of_items):
        for run in found:
            places[run].append(place)
    hits: set[int] = set()
    for texts in conversations:
        parts = [runs(text) for text in texts]
        whole = frozenset[tuple[str, ...]]().union(*parts)
        for place, n in Counter(p for run in whole for p in places.get(run, ())).items():
            number, item = of_items[place]
            if _holds(n, item) or any(_is_part(part, item) for part in parts):
                hits.add(number)
    return hits


def _holds(n_shared: int, shorter: Runs) -> bool:
    return len(shorter) >= FEWEST_RUNS and n_shared >= SHARE * len(shorter)


def _is_part(text: Runs, item: Runs) -> bool:
    n = len(text & item)
    return n >= LEAST_PART * len(item) and _holds(n, text)
