"""Patterns read a text in time in proportion to it: with its square it would take an hour."""

import time
from collections.abc import Callable

import pytest

from userturn.datasets.language import detected
from userturn.grading.code import code_of
from userturn.grading.math import final_answer
from userturn.grading.numeric import final
from userturn.html.chart import size_of
from userturn.humans.blinding import neutral

N = 300_000
READERS: dict[str, Callable[[str], object]] = {
    "final answer": final_answer,
    "final number": lambda text: final(text, {}),
    "program": lambda text: code_of(text, "f"),
    "language": lambda text: detected(text, "py3langid"),
    "what people see": lambda text: neutral(text, ["<end>"], is_turn=True),
    "size of a picture": size_of,
}
TEXTS = {
    "lines": "\n" * N,
    "spaces": f"Answer: x{' ' * N}y",
    "letters": "x" * N,
    "fence": "`" * N,
    "marks": "⟦mark⟧⟦user⟧" * (N // 12) + "x",
    "widths": "<svg" + ' width="1"' * (N // 10),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("reader", READERS)
def test_a_long_text_is_read_to_its_end(reader: str, text: str) -> None:
    start = time.process_time()
    READERS[reader](TEXTS[text])
    assert time.process_time() - start < 10
