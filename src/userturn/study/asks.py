"""Asks: hashes of what requests ask for, made without a tokenizer, and the journals of replies.

An ask is one hash of a model's settings, the sampling, and the texts that the prompt shows. It has
no name of a model, dataset or item and no `max_model_len`, so it stays when these change. Requests
of one ask have one prompt, which their keys prove, because a key has the prompt's tokens.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl

from userturn.config.entries import Config
from userturn.config.formats import OF_THE_PROBE
from userturn.datasets.messages import REASONING, Message, ShownAnswer
from userturn.models.fetch import local_path
from userturn.models.requests import Sampling, role_at
from userturn.prompts.perturbations import OPERATORS
from userturn.prompts.template_text import effective, settings_read_in
from userturn.storage.hashing import canonical_json, fingerprint
from userturn.storage.journal_table import Journal
from userturn.storage.table_files import Schema
from userturn.study.contents import Contents
from userturn.study.grid import Grid
from userturn.study.model_description import read_description

UNKNOWN = "\0not written yet\0"  # stands for a text that follows from a reply not yet there
LENGTH = 16  # bytes of a hash


def digest(*parts: str) -> str:
    """Return the hash of some texts, or UNKNOWN if one of them is."""
    if UNKNOWN in parts:
        return UNKNOWN
    state = blake2b(digest_size=LENGTH)
    for part in parts:
        content = part.encode(errors="surrogatepass")
        state.update(len(content).to_bytes(8))
        state.update(content)
    return state.hexdigest()


def digest_of(messages: Iterable[Message]) -> str:
    """Return the hash of a conversation."""
    return digest(*(text for m in messages for text in _texts_of(m)))


def _texts_of(message: Message) -> list[str]:
    own = [message[REASONING]] if message.get(REASONING) is not None else []
    return [message["role"], message["content"], *own]


def digest_of_answer(answer: ShownAnswer | None) -> str:
    """Return the part of an ask for an answer: its text, or a hash of text and reasoning."""
    if answer is None:
        return ""
    return answer.text if answer.reasoning is None else digest(answer.text, answer.reasoning)


@lru_cache(maxsize=1024)
def _sampling_hash(
    model: str, seed: int, role: str, depth: int, sample: int, sampling: Sampling
) -> str:
    """Return the hash of how a reply is drawn, with seed and role only above temperature 0."""
    of = sampling
    settings = [of.temperature, of.top_p, of.top_k, of.presence_penalty, of.max_tokens]
    by_seed = [seed, role_at(role, depth)] if sampling.temperature > 0 else []
    return fingerprint([model, role, settings, sample, by_seed])


@dataclass(frozen=True)
class Asks:
    """The asks of one model."""

    model: str  # hash of its settings
    seed: int  # the study's
    answering: str  # hash of the settings that shape answers, without those of probes

    def answer(
        self, messages: Iterable[Message], sampling: Sampling, sample: int, depth: int
    ) -> str:
        """Return the ask of an answer to a conversation."""
        sampling_hash = _sampling_hash(
            self.answering, self.seed, "assistant", depth, sample, sampling
        )
        return digest(sampling_hash, digest_of(messages))

    def user_turn(self, shown: str, sampling: Sampling, sample: int, depth: int) -> str:
        """Return the ask of a user turn, where `shown` is the result of `digest_of_probe`."""
        return digest(_sampling_hash(self.model, self.seed, "user", depth, sample, sampling), shown)

    def score(self, kind: str, prompt: Iterable[Message], answer: ShownAnswer, turn: str) -> str:
        """Return the ask of the score of a turn after a context of a kind."""
        shown = digest_of(prompt), digest_of_answer(answer)
        return digest("score", self.model, kind, *shown, turn.strip())


def asks_of(grid: Grid, model: str) -> Asks:
    """Return the asks of a model of a grid."""
    content, read = grid.contents.models[model], _settings_read(grid, model)

    def settings_without(*names: str) -> str:
        shaping = effective({k: v for k, v in content.items() if k not in names}, read)
        return fingerprint({k: v for k, v in shaping.items() if k != "max_model_len"})

    return Asks(settings_without(), grid.config["seed"], settings_without(*OF_THE_PROBE))


def _settings_read(grid: Grid, model: str) -> list[str] | None:
    """Return the settings that a model's template reads, by its description or else its folder."""
    try:
        described: list[str] | None = read_description(grid, model)["settings_read"]
        return described
    except (OSError, ValueError, LookupError):
        entry = grid.entries[model]
        folder, own = local_path(entry["source"]), entry.get("chat_template")
        return None if folder is None else settings_read_in(folder, own)


def digest_of_probe(
    operator: Mapping[str, Any],
    messages: Iterable[Message],
    answer: ShownAnswer | None,
    donor: ShownAnswer | None,
    reference: str | None,
) -> str:
    """Return the hash of the parts of an item that an operator declares to show.

    `donor` is the answer to another item, `reference` the dataset's own answer.
    """
    declared = OPERATORS[operator["operator"]]
    conversation = digest_of(messages) if declared.shows_messages else ""
    read = [digest_of_answer(answer)] if declared.shows_answer else []
    read += [digest_of_answer(donor)] if declared.needs_donor else []
    read += [reference or ""] if declared.needs_reference else []
    return digest(canonical_json(dict(operator)), conversation, *read)


NAMES: Schema = {"ask": pl.String, "asked_as": pl.String, "asked_item": pl.String}


def scan_plans(paths: Iterable[Path]) -> pl.LazyFrame:
    """Return some plans as one table, null where an earlier version wrote no asks and names."""
    named = pl.LazyFrame(schema={"key": pl.String, **NAMES})
    return pl.concat([named, *map(pl.scan_parquet, paths)], how="diagonal")


def names_of(plans: Iterable[Path]) -> dict[str, tuple[str, str]]:
    """Return by key the names of dataset and item under which requests of plans were asked.

    Requests that an earlier version planned are left out.
    """
    rows = scan_plans(plans).select("key", "asked_as", "asked_item").drop_nulls().collect()
    return {key: (dataset, item) for key, dataset, item in rows.iter_rows()}


class ForecastGrid(Grid):
    """A grid whose requests are planned in a scratch folder and known by their asks alone."""

    def __init__(
        self,
        config: Config,
        results: str | Path,
        contents: Contents,
        scratch: Path,
        replies: Mapping[str, pl.DataFrame],
    ) -> None:
        """Take a grid's parts, a scratch folder, and by model the journals' replies, by ask."""
        super().__init__(config, results, contents)
        self.scratch = scratch
        self.replies = replies

    def requests_folder(self, model: str, dataset: str, identity: str) -> Path:
        """Return the path of a plan's folder below the scratch folder."""
        return self.scratch / "requests" / model / dataset / identity

    def dataset_path(self, dataset: str) -> Path:
        """Return the path of a dataset's items, in the scratch folder if they are not current."""
        prepared = self.scratch / "datasets" / f"{dataset}.parquet"
        return prepared if prepared.is_file() else super().dataset_path(dataset)


def journal_of(grid: Grid, model: str, dataset: str, plans: Iterable[Path]) -> Journal:
    """Return the journal with the replies to some plans of a model and dataset.

    Requests keep the name that their dataset was first asked under, and its journal. In a forecast,
    a reply that does not exist yet counts as one whose text is unknown.
    """
    asked = scan_plans(plans)
    if isinstance(grid, ForecastGrid):
        replies = grid.replies[model]
        lacking = asked.select("key").drop_nulls().unique().collect()
        lacking = lacking.join(replies, on="key", how="anti")
        unknown = lacking.with_columns(outcome=pl.lit("ok"), text=pl.lit(UNKNOWN))
        return pl.concat([replies, unknown], how="diagonal").sort("key")
    own = grid.journal_folder(model, dataset)
    names = asked.select(pl.col("asked_as").unique().drop_nulls()).collect()["asked_as"]
    return [own, *(own.with_name(name) for name in sorted({*names} - {own.name}))]
