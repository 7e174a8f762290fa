"""The languages of each user turn's prompt, answer and text, where a dataset tells languages apart.

The prompt's language is the item's (`language: all` in the dataset's entry). The languages of the
model's own answer, of the answer that the turn follows (perturbed or not), and of the turn are
detected.
"""

from collections.abc import Iterable, Sequence

import polars as pl

from userturn.config.load import DETECTOR_KEY, FORMER_DETECTOR
from userturn.datasets.language import detected
from userturn.datasets.prepare import user_text
from userturn.storage.table_files import TURN_COLUMNS, TURN_KEYS, Schema, write_table

FAILED = "the request failed"
TOLD = ("prompt", "answer", "shown", "turn")
LANGUAGES_SCHEMA: Schema = {
    **TURN_COLUMNS,
    "problem": pl.String,
    **{f"{what}_{part}": pl.String for what in TOLD for part in ("language", "reason")},
    "answered_in_another": pl.Boolean,
    "turned_in_another": pl.Boolean,
    "turned_unlike_answer": pl.Boolean,
}


def _told(
    what: str, texts: Iterable[str | None], outcomes: Iterable[str], detector: str
) -> pl.DataFrame:
    """Return the columns `<what>_language` and `<what>_reason` of texts with their outcomes."""
    rows = [
        (None, FAILED) if outcome == "error" else detected(text, detector)
        for text, outcome in zip(texts, outcomes, strict=True)
    ]
    names = [f"{what}_language", f"{what}_reason"]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def _item_languages(items: pl.DataFrame, answers: pl.DataFrame, detector: str) -> pl.DataFrame:
    """Return each item's problem, and the languages of its prompt and of the model's answer."""
    questions = items.sort("item").select("item", "problem", "messages", "language")
    why = [
        None if row["language"] else detected(user_text(row), detector).reason
        for row in questions.to_dicts()
    ]
    prompts = questions.select(
        "item", "problem", prompt_language="language", prompt_reason=pl.Series(why, dtype=pl.String)
    )
    texts = answers.sort("item").select("item", "answer", "outcome")
    own = _told("answer", texts["answer"], texts["outcome"], detector)
    return prompts.join(texts.select("item").hstack(own), on="item", how="left")


def turn_languages(turns: pl.DataFrame, answers: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Return the languages of every turn of a model and dataset, sorted by turn.

    Args:
        turns: user turns of all cells with the key columns, `answer`, `text` and `outcome`.
        answers: the model's answers with `item`, `answer` and `outcome`.
        items: the prepared dataset with `language`, `problem` and the name of its detector.

    Returns:
        `LANGUAGES_SCHEMA`: each language or the reason why it is null, and whether two languages
        differ, which is null if either is.
    """
    written = turns.sort(TURN_KEYS)
    detector = items[DETECTOR_KEY][0] if DETECTOR_KEY in items.columns else FORMER_DETECTOR
    languages_of_answers = _told("shown", written["answer"], ["ok"] * written.height, detector)
    languages_of_turns = _told("turn", written["text"], written["outcome"], detector)
    table = (
        written.select(TURN_KEYS)
        .hstack([*languages_of_answers.get_columns(), *languages_of_turns.get_columns()])
        .join(
            _item_languages(items, answers, detector), on="item", how="left", maintain_order="left"
        )
    )
    return table.with_columns(
        answered_in_another=pl.col("answer_language") != pl.col("prompt_language"),
        turned_in_another=pl.col("turn_language") != pl.col("prompt_language"),
        turned_unlike_answer=pl.col("turn_language") != pl.col("shown_language"),
    ).select(pl.col(name).cast(kind) for name, kind in LANGUAGES_SCHEMA.items())


def detect_languages(
    identity: str,
    paths_to_user_turns: Sequence[str],
    path_to_answers: str,
    path_to_items: str,
    path_to_languages: str,
) -> None:
    """Write the languages of every turn of a model and dataset."""
    columns = [*TURN_KEYS, "answer", "text", "outcome"]
    turns = pl.concat([pl.read_parquet(path, columns=columns) for path in paths_to_user_turns])
    answers = pl.read_parquet(path_to_answers, columns=["item", "answer", "outcome"])
    table = turn_languages(turns, answers, pl.read_parquet(path_to_items))
    write_table(table, path_to_languages, identity)
