"""Does every probe show the answer that its perturbation says, changed exactly so?

And does it end in the user header of its model's description? No tokenizer is needed: if an
operator counts tokens, the plan's counts are taken as the tokenizer's, and everything that follows
from them is compared.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from userturn.audit.findings import Finding, remake
from userturn.audit.pair import BrokenError, Pair
from userturn.datasets.prepare import read_items
from userturn.generation.shards import next_in_hash_order
from userturn.prompts.perturbations import (
    NO_ANSWER,
    NO_REFERENCE,
    NOTHING_TO_SHOW,
    Context,
    Donor,
    answer_for_readers,
    needs_donor,
    needs_reference,
    perturb,
)
from userturn.prompts.tokenize import TemplateError
from userturn.provenance.study_files import FAULTS
from userturn.storage.hashing import canonical_json
from userturn.study.asks import digest_of
from userturn.study.cells import Cell, files_of

OWN_ANSWER = ("ok", "empty")  # outcomes of an answer that the model is shown as its own


class NotedTokenizer:
    """The part of a tokenizer that operators use, simulated from the change in a plan."""

    is_fast = True

    def __init__(self, change: Mapping[str, Any]) -> None:
        """Take the change that an operator recorded."""
        self.n_tokens = int(change.get("n_tokens", 0))
        self.end = int(change.get("n_characters_kept", 0))

    def __call__(self, text: str, **options: bool) -> Mapping[str, Any]:
        """Return the recorded number of tokens, the kept ones ending at the recorded place."""
        spans = [(0, self.end)] * self.n_tokens
        return {"input_ids": list(range(self.n_tokens)), "offset_mapping": spans}

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return nothing: the spans say what is kept."""
        return ""


def own_answers(answers: pl.DataFrame) -> dict[str, str | None]:
    """Map each item to the answer that the model is shown as its own; None where it has none."""
    return {
        item: answer if outcome in OWN_ANSWER else None
        for item, answer, outcome in answers.select("item", "answer", "outcome").iter_rows()
    }


def check_probes(pair: Pair, cell: Cell) -> Iterator[Finding]:
    """Yield the first user turn of a cell whose shown answer does not follow from the answers."""
    path = files_of([cell], "user_turns.parquet")[0]
    try:
        wrong = _wrong_probe(pair, cell, pair.read(path))
    except BrokenError:
        return  # reported elsewhere
    except FAULTS as error:
        wrong = f"some item ({type(error).__name__})"
    if wrong is not None:
        expected = f"the answer to {wrong}, changed as {cell.perturbation} says"
        yield Finding("probes", path, expected, "another answer or change", remake(path))


def check_headers(pair: Pair, path: str, identity: str) -> Iterator[Finding]:
    """Yield a plan of user turns with a prompt that does not end in the model's user header.

    Args:
        pair: model and dataset of the audited study.
        path: path of the table of these turns, from its rule.
        identity: of the plan.
    """
    folder = f"results/requests/{pair.grid.places.of_pair(pair.model, pair.dataset)}/{identity}"
    try:
        header = pair.description["user_header"]
        for file in sorted(pair.whole(folder).glob("[!.]*.parquet")):
            prompts = pl.scan_parquet(file).select("item", "prompt_text").drop_nulls()
            others = prompts.filter(~pl.col("prompt_text").str.ends_with(header))
            for item in others.head(1).collect()["item"]:
                expected = f"the prompt of {item} to end in the user header {header!r}"
                plan = f"{folder}/{file.name}"
                yield Finding("probes", plan, expected, "another end", remake(plan))
    except BrokenError:
        return  # reported elsewhere
    except FAULTS as error:
        expected = "prompts that end in the user header of the model's description"
        yield Finding("probes", path, expected, type(error).__name__, remake(path))


def _wrong_probe(pair: Pair, cell: Cell, turns: pl.DataFrame) -> str | None:
    """Return the first item whose shown answer or recorded change is wrong."""
    operator = pair.grid.contents.perturbations[cell.perturbation]
    own = own_answers(pair.read(pair.path_to_answers))
    items = list(read_items(pair.whole(pair.path_to_items)))
    contents = {item.id: digest_of(item.messages) for item in items}
    told = contents if pair.grid.contents.ids == 2 else None
    donors = next_in_hash_order(own, told) if needs_donor(operator) else {}
    contexts = {
        item.id: Context(
            item.messages, own[item.id], {}, _donor(donors.get(item.id), own), item.reference
        )
        for item in items
    }
    asked = turns.filter(pl.col("key").is_not_null())
    for item, answer, change in asked.select("item", "answer", "change").iter_rows():
        if _shown(contexts[item], operator, change) != (answer, change):
            return str(item)
    for item, error in turns.filter(pl.col("key").is_null()).select("item", "error").iter_rows():
        can_be_told = error == NO_REFERENCE or pair.never_failed
        if can_be_told and not _is_so(contexts[item], operator, str(error)):
            return str(item)
    return None


def _is_so(context: Context, operator: Mapping[str, Any], error: str) -> bool:
    """Return whether nothing was asked for the reason that is given.

    Whether a prompt was too long, or the template refused it, only a tokenizer can tell.
    """
    return not error.startswith(NOTHING_TO_SHOW) or error == _missing(context, operator)


def _missing(context: Context, operator: Mapping[str, Any]) -> str | None:
    """Return why there is no answer to show, if there is none."""
    if context.answer is None and not needs_reference(operator):
        return NO_ANSWER
    try:
        perturb(context, operator, NotedTokenizer({}))
    except TemplateError as error:
        return str(error)
    return None


def _donor(item: str | None, answers: Mapping[str, str | None]) -> Donor | None:
    return None if item is None else Donor(item, answers.get(item))


def _shown(
    context: Context, operator: Mapping[str, Any], change: str
) -> tuple[str | None, str | None]:
    """Return the answer that readers of a turn see, and the change, in the form of a plan."""
    if context.answer is None and not needs_reference(operator):
        return None, None
    try:
        changed = perturb(context, operator, NotedTokenizer(json.loads(change)))
    except TemplateError:
        return None, None
    return answer_for_readers(context, changed), canonical_json(dict(changed.change))
