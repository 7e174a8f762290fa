"""The annotation page of a round of turns or pairs, and that of turns as a task for Label Studio.

The page is one file without dependencies. Its policy allows only its own script and style, by their
hashes. Every text is stored as escaped JSON and shown as text content. For each turn it contains an
opaque id, the conversation and the turn, and nothing else. The turns of a pair are shown by the
same code in boxes of equal size, and nothing tells which is whose.

A round of turns begins with practice turns of the project, whose labels are known. They belong to
no study, so nothing that is chosen for them can enter its results.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import polars as pl

from userturn.html.page import CSV_SCRIPT, FOLDER, embedded, policy, read_page
from userturn.humans.label_files import UNSURE
from userturn.humans.pairs import SIDES
from userturn.humans.rounds import ASKED_FIRST
from userturn.judges.rubric import Rubric, described, note_on_ours, read_rubric
from userturn.storage.files import write_text
from userturn.storage.hashing import fingerprint
from userturn.wording import label_name, name_labels, one_line_each

N_TURNS = 10
READINGS = ("first_label", "second_label", "third_label")
ABOUT = (
    "These turns are not part of the round, and nothing you choose here is kept. They were written "
    "for practice; each has the label that language models gave it in three separate readings of "
    "the guide. Where you see a turn differently, read the guide again, then trust yourself."
)


class PracticeTurn(TypedDict):
    """A turn as the annotation page shows it, with its known label."""

    conversation: list[dict[str, str]]
    turn: str
    label: str


def practice_turns(path: str | Path, labels: Sequence[str]) -> list[PracticeTurn]:
    """Return up to ten English turns, each after another conversation, their labels in balance.

    Nobody chooses them. Of the turns on whose label all readings agree, those of each label are
    taken that rank first by a hash, which also decides their order. `path` is
    `data/labelled/turns.jsonl`, whose README describes the columns. `labels` are the rubric's
    labels. Turns with others are left out.
    """
    rows = filter(_is_clear, pl.read_ndjson(path).to_dicts())
    ranked = sorted((row for row in rows if row["label"] in labels), key=_rank)
    chosen: list[Mapping[str, Any]] = []
    while len(chosen) < N_TURNS:
        n_of = Counter(row["label"] for row in chosen)
        used = {row["conversation"] for row in chosen}
        free = [row for row in ranked if row["conversation"] not in used]
        if not free:
            break
        chosen.append(min(free, key=lambda r: (n_of[r["label"]], labels.index(r["label"]))))
    return [
        {
            "conversation": [{"role": m["role"], "text": m["content"]} for m in row["messages"]],
            "turn": row["turn"],
            "label": row["label"],
        }
        for row in sorted(chosen, key=_rank)
    ]


def _is_clear(row: Mapping[str, Any]) -> bool:
    """Return whether a turn is English, labelled alike by all readings, without special tokens."""
    is_plain = row["language"] == "en" and "<|" not in row["turn"]
    return is_plain and len({row[name] for name in READINGS}) == 1


def _rank(row: Mapping[str, Any]) -> str:
    return fingerprint(["practice", row["id"]])


MARKS_SHOWN = (
    "⟦mark⟧ stands for a control sequence, ⟦assistant⟧ for one that opens a message of that role, "
    "and ⟦U+…⟧ for an invisible character."
)
GUIDE = (
    "Read the conversation, then the turn below it, which stands where the user's next message "
    "would be. Choose one label, using the descriptions below. Who or what wrote a turn is hidden "
    "on purpose, and the order is shuffled.",
    f"{MARKS_SHOWN} Text that looks cut off was cut at a length limit.",
)
NEEDED = (
    "The first {n} turns are needed most: without their labels nothing is known about the judge. "
    "If you cannot label all turns, stop after these."
)
# Shows Label Studio's `Text` as the page does. Without it spaces would be joined.
LINE_STYLE = (
    "[class*=richtext__line] "
    "{ white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }"
)
SCRIPTS = ["work", "turn", "files", "practice", "page"]  # each uses those before it


def page(
    round_name: str,
    items: pl.DataFrame,
    rubric: Rubric,
    practice: Sequence[PracticeTurn] = (),
    n_first: int = 0,
) -> str:
    """Return the annotation page of a round as HTML.

    Items have `id`, `conversation` and `turn`, in the order in which they are shown. `practice` are
    turns to learn the labels by, which are not of the round. The first `n_first` are needed most.
    """
    guide = (*GUIDE, NEEDED.format(n=n_first)) if 0 < n_first < items.height else GUIDE
    labels = [
        {
            "name": name,
            "shown": label_name(name),
            "criterion": label["criterion"],
            "described": described(label),
        }
        for name, label in rubric.labels.items()
    ]
    rules = one_line_each(name_labels(rubric.rules, rubric.labels))
    words = {"rules": rules, "ours": note_on_ours(rubric)}
    return _page_of("turn", "Label of turn", round_name, items, guide, labels, practice, **words)


def _page_of(
    unit: str,
    question: str,
    round_name: str,
    items: pl.DataFrame,
    guide: Sequence[str],
    labels: Sequence[Mapping[str, str]],
    practice: Sequence[PracticeTurn] = (),
    rules: str = "",
    ours: str = "",
) -> str:
    """Return the page of a task as HTML.

    `unit` is `turn` or `pair`, and `question` stands before its number. `ours` is the note on
    labels that are the project's own.
    """
    parts = FOLDER.joinpath("annotate")
    template = read_page(
        "annotate/annotate.html",
        style=parts.joinpath("annotate.css").read_text("utf-8"),
        script=CSV_SCRIPT.read_text("utf-8")
        + "".join(parts.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS),
        turns=parts.joinpath(f"{unit}.html").read_text("utf-8"),
        unit=unit,
        question=question,
    )
    data = {
        "round": round_name,
        "unit": unit,
        "guide": guide,
        "digest": fingerprint(items["id"].to_list()),
        "labels": labels,
        "rules": rules,
        "ours": ours,
        "items": items.to_dicts(),
        "practice": {"turns": practice, "about": ABOUT if practice else ""},
    }
    before, after = template.replace("{{policy}}", policy(template)).split("{{data}}")
    return f"{before}{embedded(data)}{after}"


def label_studio_tasks(round_name: str, items: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the round as tasks to import into a project of Label Studio."""
    return [
        {
            "data": {
                "turn_id": row["id"],
                "round": round_name,
                # Under their roles, since Label Studio's dialogues would join a message's lines.
                "conversation": "\n\n".join(
                    f"──────── {message['role'].capitalize()}\n{message['text']}"
                    for message in row["conversation"]
                ),
                "turn": row["turn"] or "(the turn is empty)",
            }
        }
        for row in items.iter_rows(named=True)
    ]


def label_studio_config(rubric: Rubric) -> str:
    """Return Label Studio's interface: conversation, turn, label, whether unsure, notes, guide.

    The guide and the criteria are text on the screen, in the order of the page's guide. `Text`
    keeps line breaks, and its style keeps the spaces.
    """
    view = Element("View")
    SubElement(view, "Style").text = LINE_STYLE
    SubElement(view, "Header", value="Conversation")
    SubElement(view, "Text", name="conversation", value="$conversation")
    SubElement(view, "Header", value="The next user turn: what is it?")
    SubElement(view, "Text", name="turn", value="$turn")
    choices = SubElement(
        view, "Choices", name="label", toName="turn", choice="single", required="true"
    )
    for number, name in enumerate(rubric.labels, start=1):
        SubElement(choices, "Choice", value=label_name(name), alias=name, hotkey=str(number))
    unsure = SubElement(view, "Choices", name="unsure", toName="turn", choice="multiple")
    SubElement(unsure, "Choice", value=UNSURE, hotkey="s")
    SubElement(
        view, "TextArea", name="notes", toName="turn", placeholder="notes, optional", rows="2"
    )
    criteria = [f"{label_name(name)}: {described(label)}" for name, label in rubric.labels.items()]
    rules = name_labels(rubric.rules, rubric.labels)
    for text in (*GUIDE, *criteria, rules, note_on_ours(rubric)):
        if text:
            SubElement(view, "Header", value=" ".join(text.split()), size="6")
    indent(view)
    return tostring(view, encoding="unicode") + "\n"


def build_annotation(
    round_name: str,
    path_to_items: str,
    path_to_rubric: str,
    path_to_labelled: str,
    path_to_page: str,
    path_to_tasks: str,
    path_to_config: str,
) -> None:
    """Write a round's page, and its tasks and interface for Label Studio."""
    items, rubric = pl.read_parquet(path_to_items), read_rubric(path_to_rubric)
    n_first = int(pl.read_parquet_metadata(path_to_items).get(ASKED_FIRST, 0))
    practice = practice_turns(path_to_labelled, list(rubric.labels))
    tasks = json.dumps(label_studio_tasks(round_name, items), ensure_ascii=False, indent=1)
    texts = {
        path_to_page: page(round_name, items, rubric, practice, n_first),
        path_to_tasks: f"{tasks}\n",
        path_to_config: label_studio_config(rubric),
    }
    for path, text in texts.items():
        write_text(text, path)


PAIR_GUIDE = (
    "Read the conversation, then the two turns below it. Both stand where the user's next message "
    "would be, after the same answer. A person wrote one of them, a language model the other. "
    "Choose the one that you think the person wrote. Their order is random.",
    "Choose one even if you cannot tell, and mark that you are not sure: where turns cannot be "
    "told apart, half of the choices are right.",
    MARKS_SHOWN,
)
PAIR_LABELS = [
    {
        "name": name,
        "shown": label_name(name),
        "criterion": "",
        "described": f"A person wrote the {name} turn.",
    }
    for name in SIDES
]


def pair_page(round_name: str, items: pl.DataFrame) -> str:
    """Return the page of a round of pairs, whose items have `id`, `conversation` and `turns`."""
    question = "Written by a person in pair"
    return _page_of("pair", question, round_name, items, PAIR_GUIDE, PAIR_LABELS)


def build_pair_page(round_name: str, path_to_items: str, path_to_page: str) -> None:
    """Write the page of a round of pairs."""
    write_text(pair_page(round_name, pl.read_parquet(path_to_items)), path_to_page)
