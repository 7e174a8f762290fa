"""The items of a model and dataset with their prompts, as the report's explorer reads them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from userturn.html.page import embedded
from userturn.storage.files import write_text
from userturn.wording import show_codes

TEMPLATE = "template"
Part = tuple[str, str]  # who wrote it (a role, or the template), and the text


def prompt_parts(prompt: str, messages: Sequence[Part], user_header: str) -> list[Part]:
    """Return a probe prompt as parts whose texts, joined, are the prompt again.

    The messages' contents are searched from the end of the prompt, each before the previous match.
    White space at their ends belongs to the template. If a content is not found, the whole prompt
    is template text. The shown answer is the last message, and the user header is the end of the
    prompt.
    """
    end = len(prompt.removesuffix(user_header))
    parts = []
    following = len(prompt)
    for role, content in reversed([m for m in messages if m[1].strip()]):
        stripped = content.strip()
        start = prompt.rfind(stripped, 0, end)
        if start < 0:
            return [(TEMPLATE, prompt)]
        parts += [(TEMPLATE, prompt[start + len(stripped) : following]), (role, stripped)]
        end = following = start
    parts.append((TEMPLATE, prompt[:following]))
    return [part for part in reversed(parts) if part[1]]


ROWS_PER_FILE = 500  # rows of one data file
WRITERS = [TEMPLATE, "system", "user", "assistant"]
Texts = dict[str, int]


def numbered(texts: Texts, text: str | None) -> int:
    """Return the number of a text in a file, adding a new text, or -1 for none.

    Characters that a reader cannot see, or that turn the text around, are written as their code.
    """
    return -1 if text is None else texts.setdefault(show_codes(text), len(texts))


def write_script(folder: Path, name: str, value: Any) -> None:
    """Write one data file: a script that passes a value to the page."""
    write_text(f'userturn.take("{name}",{embedded(value)});\n', folder / f"{name}.js")


@dataclass
class PromptsFile:
    """Some items of a model and dataset, and every prompt that was made from them."""

    texts: Texts = field(default_factory=dict)  # the number of each text
    items: list[list[Any]] = field(default_factory=list)  # item, answer, correct, is it cut
    prompts: list[list[int]] = field(default_factory=list)  # answer, then writer and text each
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)  # by item and prompt

    def prompt(
        self, item: str, prompt: str, shown: str | None, messages: Sequence[Part], user_header: str
    ) -> int:
        """Return the number of an item's prompt, after adding the parts of a new prompt."""
        if (item, prompt) not in self.numbers:
            self.numbers[item, prompt] = len(self.prompts)
            conversation = [] if shown is None else [*messages, ("assistant", shown)]
            row = [numbered(self.texts, shown)]
            for writer, text in prompt_parts(prompt, conversation, user_header):
                row += [WRITERS.index(writer), numbered(self.texts, text)]
            self.prompts.append(row)
        return self.numbers[item, prompt]


class Group:
    """The items of a model and dataset with the answers to them, in files of `ROWS_PER_FILE`."""

    def __init__(
        self, items: pl.DataFrame, answers: pl.DataFrame, grades: pl.DataFrame, user_header: str
    ) -> None:
        table = items.join(answers, on="item", how="left", maintain_order="left").join(
            grades, on="item", how="left", maintain_order="left"
        )
        self.user_header = user_header
        self.positions = {item: i for i, item in enumerate(table["item"])}
        self.messages = [
            [(m["role"], m["content"]) for m in conversation] for conversation in table["messages"]
        ]
        self.files = [PromptsFile() for _ in range(0, max(1, table.height), ROWS_PER_FILE)]
        columns = ("item", "answer", "correct", pl.col("finish_reason") == "length")
        for position, (item, answer, *told) in enumerate(table.select(columns).iter_rows()):
            file = self.files[position // ROWS_PER_FILE]
            file.items.append([numbered(file.texts, item), numbered(file.texts, answer), *told])

    def prompt(self, item: str, prompt: str | None, shown: str | None) -> int:
        """Return the number of a prompt in the file of its item, or -1 for none."""
        if prompt is None:
            return -1
        position = self.positions[item]
        file = self.files[position // ROWS_PER_FILE]
        return file.prompt(item, prompt, shown, self.messages[position], self.user_header)

    def write(self, folder: Path, number: int) -> None:
        """Write the group's files, whose names have its number."""
        for part, file in enumerate(self.files):
            value = {"texts": list(file.texts), "items": file.items, "prompts": file.prompts}
            write_script(folder, f"prompts-{number}-{part}", value)


def read_group(results: Path, model: str, dataset: str, user_header: str) -> Group:
    """Return the items, answers and grades that the cells of a model and dataset share."""
    answers, grades = (
        results / kind / model / f"{dataset}.parquet" for kind in ("answers", "grades")
    )
    return Group(
        pl.read_parquet(results / "datasets" / f"{dataset}.parquet", columns=["item", "messages"]),
        pl.read_parquet(answers, columns=["item", "answer", "finish_reason"]),
        pl.read_parquet(grades, columns=["item", "correct"]),
        user_header,
    )
