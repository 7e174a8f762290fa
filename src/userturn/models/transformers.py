"""The engine transformers: one request at a time, for machines without vLLM."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from userturn.models.completion import AnyRequest, Completion, Engine, refusal, scores
from userturn.models.requests import Request
from userturn.models.scoring import ScoringRequest
from userturn.models.stop_texts import first_stop


def _stopping_criteria(tokenizer: Any, n_prompt: int, stop_texts: Sequence[str]) -> list[Any]:
    """Return the criteria that end a continuation at its first stop text."""
    if not stop_texts:
        return []

    def has_stopped(ids: Any, scores: Any, **options: Any) -> bool:
        said = tokenizer.decode(ids[0, n_prompt:], clean_up_tokenization_spaces=False)
        return first_stop(said, stop_texts) is not None

    return [has_stopped]


def _written(
    model: Any, tokenizer: Any, request: Request, settings: Mapping[str, Any]
) -> Completion:
    """Return a model's completion of one prompt.

    Raises:
        ValueError: the prompt leaves no room.
    """
    import torch

    sampling = request.sampling
    ids = torch.tensor([request.prompt.token_ids], device=model.device)
    if len(request.prompt.token_ids) >= settings["max_model_len"]:
        raise ValueError("the prompt is longer than max_model_len")
    torch.manual_seed(sampling.seed or 0)
    drawn = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
    }
    written = model.generate(
        ids,
        max_new_tokens=sampling.max_tokens,
        eos_token_id=list(sampling.stop_token_ids),
        pad_token_id=0,
        do_sample=sampling.temperature > 0,
        stopping_criteria=_stopping_criteria(tokenizer, ids.shape[1], sampling.stop_texts),
        **(drawn if sampling.temperature > 0 else {}),
    )[0, ids.shape[1] :].tolist()
    ends = sampling.stop_token_ids
    stopped = (bool(written) and written[-1] in ends) or len(written) < sampling.max_tokens
    return Completion(tuple(written), "stop" if stopped else "length")


def _scored(model: Any, request: ScoringRequest, settings: Mapping[str, Any]) -> Completion:
    """Return the log-likelihood of each token after the context, in float32 from its logits.

    Raises:
        ValueError: the text is too long.
    """
    import torch

    if len(request.token_ids) >= settings["max_model_len"]:
        raise ValueError("the text is as long as max_model_len")
    ids = torch.tensor([request.token_ids], device=model.device)
    n_scored = len(request.token_ids) - request.n_context
    with torch.inference_mode():
        logits = model(ids, logits_to_keep=n_scored + 1).logits[0, :-1].float()
        found = logits.log_softmax(-1).gather(-1, ids[0, -n_scored:, None])
    return scores(found[:, 0].tolist())


def load_transformers(folder: Path, settings: Mapping[str, Any]) -> Engine:
    """Load a model into transformers and return its engine, one request at a time."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    trusts = settings.get("trust_remote_code", False)
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=settings["dtype"], trust_remote_code=trusts
    ).to("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = (
        AutoTokenizer.from_pretrained(folder, trust_remote_code=trusts)
        if settings.get("reads_text")
        else None
    )

    def complete(request: AnyRequest) -> Completion:
        if isinstance(request, ScoringRequest):
            return _scored(model, request, settings)
        return _written(model, tokenizer, request, settings)

    def generate(requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion] | None]:
        for request in requests:
            try:
                yield request, complete(request)
            except ValueError as error:
                yield request, refusal(error)

    return generate
