"""Continue many prompts in transformers, together or one by one, and score texts.

Rows enter and leave a batch while others are written.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from transformers.cache_utils import DynamicCache

from userturn.models.batch_rows import SPARE_COLUMNS, RowCache, Writing, aligned, begin, write_next
from userturn.models.requests import (
    Completion,
    Decode,
    Request,
    ScoringRequest,
    first_stop,
    refusal,
    scores,
)

AHEAD = 2048  # requests that wait, sorted by length
PREFILL_TOKENS = 2048  # of prompts that are read at once
FULL = 0.875  # share of rows in use above which none enters: prompts are read in groups

Finished = tuple[Request, Completion]


@dataclass(frozen=True)
class Bounds:
    """The limits of a batch.

    Attributes:
        max_model_len: largest number of tokens of a prompt and its continuation.
        n_rows: largest number of requests that run together.
        n_bytes: largest memory of their keys and values.
    """

    max_model_len: int
    n_rows: int
    n_bytes: int


class Waiting:
    """Requests that have not been started, the longest first, with equal prompts side by side.

    Attributes:
        refused: requests that cannot be run, with the reason as their completion.
    """

    def __init__(self, requests: Iterable[Request], bounds: Bounds) -> None:
        """Take the requests, of which the first are read when the first rows are taken."""
        self.requests, self.bounds = enumerate(requests), bounds
        self.held: list[tuple[int, tuple[int, ...], int, Writing]] = []
        self.refused: list[Finished] = []

    def _top_up(self) -> None:
        while len(self.held) < AHEAD and (numbered := next(self.requests, None)) is not None:
            number, request = numbered
            ids = tuple(request.prompt.token_ids)
            try:
                row = begin(request, self.bounds.max_model_len)
                heapq.heappush(self.held, (-len(ids), ids, number, row))
            except ValueError as error:
                self.refused.append((request, refusal(error)))

    def take(self, rows: Sequence[Writing], cache: RowCache) -> list[Writing]:
        """Take out and return the rows that may now enter the batch beside those in it."""
        batch: list[Writing] = []
        self._top_up()
        if len(rows) > FULL * self.bounds.n_rows:
            return batch
        width = cache.get_seq_length()
        n_left = max((row.limit - len(row.token_ids) for row in rows), default=0)
        while self.held and (n := len(rows) + len(batch) + 1) <= self.bounds.n_rows:
            length, row = -self.held[0][0], self.held[0][3]
            width, n_left = max(width, length), max(n_left, row.limit)
            n_bytes = n * (width + n_left + SPARE_COLUMNS) * cache.bytes_a_token
            if n > 1 and n_bytes > self.bounds.n_bytes:
                break
            batch.append(heapq.heappop(self.held)[3])
            self._top_up()
        return batch


def reading_groups(rows: Iterable[Writing]) -> Iterator[list[Writing]]:
    """Yield rows, given longest first, in groups whose different prompts fit into one pass."""
    group: list[Writing] = []
    prompts: set[tuple[int, ...]] = set()
    for row in rows:
        ids = tuple(row.request.prompt.token_ids)
        width = len(group[0].request.prompt.token_ids) if group else 0
        if len(prompts | {ids}) * width > PREFILL_TOKENS:
            yield group
            group, prompts = [], set()
        group.append(row)
        prompts.add(ids)
    if group:
        yield group


def _read(model: Any, cache: RowCache, group: Sequence[Writing]) -> None:
    """Read the prompts of a group, equal ones once, and write the first token of each row."""
    prompts = [tuple(row.request.prompt.token_ids) for row in group]
    different = list(dict.fromkeys(prompts))
    prompt_cache = DynamicCache()
    inputs = aligned(different, model.device)
    with torch.inference_mode():
        output = model(**inputs, past_key_values=prompt_cache, use_cache=True, logits_to_keep=1)
        places = [different.index(prompt) for prompt in prompts]
        layers = [(layer.keys[places], layer.values[places]) for layer in prompt_cache.layers]
        cache.enter(layers, [len(prompt) for prompt in prompts])
        write_next(group, output.logits[places, -1])


def _step(model: Any, cache: RowCache, rows: Sequence[Writing]) -> None:
    last = torch.tensor([[row.token_ids[-1]] for row in rows], device=model.device)
    with torch.inference_mode():
        mask, positions = cache.step_inputs(model.device)
        inputs = {"attention_mask": mask, "position_ids": positions, "past_key_values": cache}
        output = model(last, use_cache=True, **inputs)
        cache.end += 1
        write_next(rows, output.logits[:, -1])


def completion(row: Writing, decode: Decode) -> Completion | None:
    """Return the completion of a row that has ended, or None if it goes on."""
    sampling, ids = row.request.sampling, row.token_ids
    if ids[-1] in sampling.stop_token_ids or (
        sampling.stop_texts and first_stop(decode(ids), sampling.stop_texts) is not None
    ):
        return Completion(tuple(ids), "stop")
    return Completion(tuple(ids), "length") if len(ids) >= row.limit else None


def _take_out(rows: list[Writing], cache: RowCache, decode: Decode) -> Iterator[Finished]:
    """Yield the rows that have ended, after they have left the batch."""
    ended = {number: done for number, row in enumerate(rows) if (done := completion(row, decode))}
    if ended:
        finished = [(rows[number].request, done) for number, done in ended.items()]
        with torch.inference_mode():
            rows[:] = [rows[number] for number in cache.leave(list(ended))]
        yield from finished


def write_together(
    model: Any,
    decode: Decode,
    of_one_token: Sequence[tuple[Any, Any]],
    requests: Iterable[Request],
    bounds: Bounds,
) -> Iterator[Finished | None]:
    """Yield each request with its completion as it finishes, and None after each step.

    All layers of the model must attend to tokens. `of_one_token` has the keys and values of one
    token by layer. Only requests with stop texts are decoded. Some thousands are read ahead.
    """
    waiting, cache, rows = Waiting(requests, bounds), RowCache(of_one_token), list[Writing]()
    while True:
        for group in reading_groups(waiting.take(rows, cache)):
            _read(model, cache, group)
            rows += group
            yield from _take_out(rows, cache, decode)
            yield None
        yield from waiting.refused
        waiting.refused.clear()
        if rows:
            _step(model, cache, rows)
            yield from _take_out(rows, cache, decode)
            yield None
        elif not waiting.held:
            return


def _continued(model: Any, ids: Sequence[int], past: Any) -> Any:
    """Return the model's output after some more tokens of one text."""
    inputs = torch.tensor([list(ids)], device=model.device)
    with torch.inference_mode():
        return model(inputs, past_key_values=past, use_cache=True, logits_to_keep=1)


def write_one_by_one(
    model: Any, decode: Decode, requests: Iterable[Request], max_model_len: int
) -> Iterator[Finished | None]:
    """Yield as `write_together` does, one request after another, for any kind of layer."""
    for request in requests:
        try:
            row, done = begin(request, max_model_len), None
        except ValueError as error:
            yield request, refusal(error)
            continue
        output = _continued(model, request.prompt.token_ids, None)
        while done is None:
            write_next([row], output.logits[:, -1])
            done = completion(row, decode)
            yield None
            output = (
                output if done else _continued(model, row.token_ids[-1:], output.past_key_values)
            )
        yield request, done


SORTED = 512  # texts that are sorted by length before they are grouped
PASS_TOKENS = 2048
LOGITS_BYTES = 256_000_000  # of float32 logits in one pass


def score_texts(
    model: Any, requests: Iterable[ScoringRequest], max_model_len: int, is_alone: bool
) -> Iterator[tuple[ScoringRequest, Completion] | None]:
    """Yield each text's scores, and None after each pass, which has one text if `is_alone`."""
    waiting = iter(requests)
    while asked := list(islice(waiting, SORTED)):
        for request in asked:
            if len(request.token_ids) >= max_model_len:
                yield request, refusal(ValueError("the text is as long as max_model_len"))
        window = [request for request in asked if len(request.token_ids) < max_model_len]
        window.sort(key=lambda request: -len(request.token_ids))
        for group in _groups(window, model.config.get_text_config().vocab_size, is_alone):
            yield from zip(group, _scored(model, group), strict=True)
            yield None


def _groups(
    requests: Sequence[ScoringRequest], n_tokens: int, is_alone: bool
) -> Iterator[list[ScoringRequest]]:
    """Yield texts, given with the longest first, in groups that one pass can hold."""
    group: list[ScoringRequest] = []
    for request in requests:
        larger = [*group, request]
        n_logits = len(larger) * _n_last_positions(larger) * n_tokens
        is_large = len(larger) * len(larger[0].token_ids) > PASS_TOKENS
        if group and (is_alone or is_large or 4 * n_logits > LOGITS_BYTES):
            yield group
            larger = [request]
        group = larger
    if group:
        yield group


def _n_last_positions(group: Sequence[ScoringRequest]) -> int:
    """Return the number of last positions whose logits are kept, one more than scored tokens."""
    return max(len(request.token_ids) - request.n_context for request in group) + 1


def _scored(model: Any, group: Sequence[ScoringRequest]) -> list[Completion]:
    """Return the scores of each text: log-likelihoods in nats, computed in float32."""
    inputs = aligned([request.token_ids for request in group], model.device)
    n_positions = _n_last_positions(group)
    with torch.inference_mode():
        output = model(**inputs, use_cache=False, logits_to_keep=n_positions)
        logits = output.logits[:, :-1].float()
        of_tokens = logits.gather(-1, inputs["input_ids"][:, 1 - n_positions :, None])[:, :, 0]
        logprobs = (of_tokens - logits.logsumexp(-1)).tolist()
    return [
        scores(row[request.n_context - len(request.token_ids) :])
        for row, request in zip(logprobs, group, strict=True)
    ]
