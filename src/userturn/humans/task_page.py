"""The annotation page, one file without dependencies, and the same task for Label Studio.

The page's policy allows only its own script and style, by their hashes; every text is stored as
escaped JSON and shown as text content. For each turn both contain an opaque id, the conversation
and the turn, and nothing else.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import polars as pl
import yaml

from userturn.html.page import embedded, policy, read_page
from userturn.storage.atomic_files import write_text
from userturn.storage.hashing import fingerprint

Labels = Mapping[str, Mapping[str, str]]


def read_rubric(path: str | Path) -> Labels:
    """Return the labels of a rubric, each with its criterion and an example, in their order."""
    labels: Labels = yaml.safe_load(Path(path).read_text())["labels"]
    return labels


def page(round_name: str, items: pl.DataFrame, labels: Labels) -> str:
    """Return the annotation page of a round as HTML.

    Args:
        round_name: what the round is called.
        items: `id`, `conversation` and `turn`, in the order in which they are shown.
        labels: criterion and example by label.
    """
    template = read_page("annotate.html")
    data = {
        "round": round_name,
        "digest": fingerprint(items["id"].to_list()),
        "labels": [{"name": name, **text} for name, text in labels.items()],
        "items": items.to_dicts(),
    }
    before, after = template.replace("{{policy}}", policy(template)).split("{{data}}")
    return f"{before}{embedded(data)}{after}"


def label_studio_tasks(round_name: str, items: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the round as Label Studio's tasks, to be imported into a project."""
    return [
        {
            "data": {
                "turn_id": row["id"],
                "round": round_name,
                "conversation": [
                    {"author": message["role"], "text": message["text"]}
                    for message in row["conversation"]
                ],
                "turn": row["turn"] or "(the turn is empty)",
            }
        }
        for row in items.iter_rows(named=True)
    ]


def label_studio_config(labels: Labels) -> str:
    """Return Label Studio's labelling interface: conversation, turn, one choice, notes."""
    view = Element("View")
    SubElement(view, "Header", value="Conversation")
    SubElement(
        view, "Paragraphs", name="conversation", value="$conversation", layout="dialogue",
        nameKey="author", textKey="text",
    )  # fmt: skip
    SubElement(view, "Header", value="The next user turn: what is it?")
    SubElement(view, "Text", name="turn", value="$turn")
    choices = SubElement(
        view, "Choices", name="label", toName="turn", choice="single", required="true"
    )
    for number, (name, label) in enumerate(labels.items(), start=1):
        SubElement(choices, "Choice", value=name, hint=label["criterion"], hotkey=str(number))
    SubElement(
        view, "TextArea", name="notes", toName="turn", placeholder="notes, optional", rows="2"
    )
    indent(view)
    return tostring(view, encoding="unicode") + "\n"


def build_annotation(
    round_name: str,
    path_to_items: str,
    path_to_rubric: str,
    path_to_page: str,
    path_to_tasks: str,
    path_to_config: str,
) -> None:
    """Write a round's page, and its tasks and interface for Label Studio."""
    items, labels = pl.read_parquet(path_to_items), read_rubric(path_to_rubric)
    tasks = json.dumps(label_studio_tasks(round_name, items), ensure_ascii=False, indent=1)
    texts = {
        path_to_page: page(round_name, items, labels),
        path_to_tasks: f"{tasks}\n",
        path_to_config: label_studio_config(labels),
    }
    for path, text in texts.items():
        write_text(text, path)
