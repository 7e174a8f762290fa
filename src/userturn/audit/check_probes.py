"""Does every probe show the answer that its perturbation asks for, changed as it says?

And does it end in the user header of its model's description? No tokenizer is needed: if an
operator counts tokens, the counts in the plan are trusted, and everything that follows from them
is compared.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from userturn.audit.findings import Finding
from userturn.audit.pair import BrokenError, Pair
from userturn.datasets.prepare import read_items
from userturn.generation.collect import answers_shown
from userturn.generation.plan_files import next_in_hash_order
from userturn.prompts.answer_layout import AnswerLayout
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
from userturn.sources.registry import asked
from userturn.sources.source import Asked, operator_of
from userturn.storage.hashing import canonical_json
from userturn.study.asks import digest_of
from userturn.workflow.study_files import FAULTS


class NotedTokenizer:
    """The part of a tokenizer that operators use, simulated from the change noted in a plan."""

    is_fast = True

    def __init__(self, change: Mapping[str, Any]) -> None:
        """Take the change that an operator recorded."""
        self.n_tokens = int(change.get("n_tokens", 0))
        self.end = int(change.get("n_characters_kept", 0))

    def __call__(self, text: str, **options: bool) -> Mapping[str, Any]:
        """Return as many tokens as recorded, all of which end where the kept text ends."""
        spans = [(0, self.end)] * self.n_tokens
        return {"input_ids": list(range(self.n_tokens)), "offset_mapping": spans}

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return an empty text, since the spans tell which part of the answer is kept."""
        return ""


def check_probes(pair: Pair, of: Asked) -> Iterator[Finding]:
    """Yield a finding on the first user turn whose probe did not show the right answer."""
    try:
        wrong = _wrong_probe(pair, of)
    except BrokenError:
        return  # reported elsewhere
    except FAULTS as error:
        wrong = f"some item ({type(error).__name__})"
    if wrong is not None:
        expected = f"the answer to {wrong}, changed as {of.cell['perturbation']} says"
        difference = "another answer or change"
        yield Finding("probes", of.path, expected, difference)


def check_headers(pair: Pair, folder: str) -> Iterator[Finding]:
    """Yield each plan of user turns with a prompt that does not end in the model's user header."""
    header = pair.description["user_header"]
    for file in sorted(pair.whole(folder).glob("[!.]*.parquet")):
        prompts = pl.scan_parquet(file).select("item", "prompt_text").drop_nulls()
        others = prompts.filter(~pl.col("prompt_text").str.ends_with(header))
        for item in others.head(1).collect()["item"]:
            expected = f"the prompt of {item} to end in the user header {header!r}"
            yield Finding("probes", f"{folder}/{file.name}", expected, "another end")


def _wrong_probe(pair: Pair, of: Asked) -> str | None:
    """Return the first item whose shown answer or recorded change is wrong, or None."""
    turns = pair.read(of.path)
    contexts = _contexts(pair, of)
    n_answers = asked(pair.grid)[of.stands_after].n_samples
    operator = operator_of(pair.grid, of)
    columns = "item", "sample", "answer", "change", "key", "error"
    for item, sample, answer, change, key, error in turns.select(columns).iter_rows():
        context = contexts[item, sample if n_answers > 1 else 0]
        if key is not None:
            is_right = _shown(context, operator, change) == (answer, change)
        elif error == NO_REFERENCE or pair.never_failed:
            # Whether a prompt was too long, or the template refused it, only a tokenizer can tell.
            is_told = not str(error).startswith(NOTHING_TO_SHOW)
            is_right = is_told or error == _missing(context, operator)
        else:
            is_right = True
        if not is_right:
            return str(item)
    return None


def _contexts(pair: Pair, of: Asked) -> dict[tuple[str, int], Context]:
    """Return the contexts from which probes are made, by item and sample of the answer."""
    operator = operator_of(pair.grid, of)
    is_own = asked(pair.grid)[of.stands_after].model == pair.model
    answer_layout = AnswerLayout.recorded(pair.description) if is_own else AnswerLayout()
    own = answers_shown(pair.read(of.stands_after), answer_layout)
    items = {item.id: item for item in read_items(pair.whole(pair.path_to_items))}
    donors: Mapping[str, str] = {}
    if needs_donor(operator):
        contents = {name: digest_of(item.messages) for name, item in items.items()}
        told = contents if pair.grid.contents.ids == 2 else None
        donors = next_in_hash_order(dict.fromkeys(item for item, _ in own), told)
    of_donors = {name: Donor(other, own.get((other, 0))) for name, other in donors.items()}
    return {
        (name, sample): Context(
            items[name].messages, answer, {}, of_donors.get(name), items[name].reference
        )
        for (name, sample), answer in own.items()
    }


def _missing(context: Context, operator: Mapping[str, Any]) -> str | None:
    """Return why there is no answer to show, or None if there is one."""
    if context.answer is None and not needs_reference(operator):
        return NO_ANSWER
    try:
        perturb(context, operator, NotedTokenizer({}))
    except TemplateError as error:
        return str(error)
    return None


def _shown(
    context: Context, operator: Mapping[str, Any], change: str
) -> tuple[str | None, str | None]:
    """Return the answer that readers of a turn see, and its change as JSON, or None for both."""
    if context.answer is None and not needs_reference(operator):
        return None, None
    try:
        changed = perturb(context, operator, NotedTokenizer(json.loads(change)))
    except TemplateError:
        return None, None
    return answer_for_readers(context, changed), canonical_json(dict(changed.change))
