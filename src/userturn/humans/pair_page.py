"""The annotation page of a round of pairs: the page of labels, with two turns side by side.

Both turns are shown by the same code in boxes of equal size, and nothing tells which is whose.
"""

import polars as pl

from userturn.humans.pairs import SIDES
from userturn.humans.task_page import MARKS_SHOWN, TaskWords, annotation_page
from userturn.storage.files import write_text

GUIDE = (
    "Read the conversation, then the two turns below it. Both stand where the user's next message "
    "would be, after the same answer. A person wrote one of them, a language model the other. "
    "Choose the one that you think the person wrote. Which is first is shuffled.",
    "Choose also when you cannot tell, and mark that you are not sure: guesses are right half the "
    "time, so they show that the turns cannot be told apart.",
    MARKS_SHOWN,
)
LABELS = [
    {"name": name, "criterion": "", "described": f"A person wrote the {name} turn."}
    for name in SIDES
]


def pair_page(round_name: str, items: pl.DataFrame) -> str:
    """Return the annotation page of a round of pairs as HTML.

    Args:
        round_name: name of the round.
        items: `id`, `conversation` and `turns`, in the order in which they are shown.
    """
    words = TaskWords("pair", "Written by a person in pair", GUIDE, LABELS)
    return annotation_page(round_name, items, words)


def build_pair_page(round_name: str, path_to_items: str, path_to_page: str) -> None:
    """Write the page of a round of pairs."""
    write_text(pair_page(round_name, pl.read_parquet(path_to_items)), path_to_page)
