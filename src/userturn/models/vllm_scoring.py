"""Score a given text with vLLM through `prompt_logprobs`, using the prefix cache.

vLLM returns no scores for tokens in its prefix cache, so by default it does not use the cache for
requests that ask for scores. Here only the end of a prompt is scored, so the cache is used, and a
request whose scored tokens were in it is sent again without the cache.

vLLM 0.32 has two model runners. V1, on CPUs, returns a row for each token of the prompt, those of
cached tokens with whatever was in memory. V2, on GPUs, returns rows of computed tokens only, and
after a preemption only those that were computed since. So rows are counted from the end, and there
must be as many as one of the two returns.
"""

from typing import Any

from userturn.models.completion import Completion, scores
from userturn.models.scoring import ScoringRequest


def scoring_parameters(shares_prefix: bool = True) -> Any:
    """Return vLLM's parameters of a scoring request; the one token that it writes is ignored."""
    from vllm import SamplingParams

    return SamplingParams(
        temperature=0,
        max_tokens=1,
        prompt_logprobs=0,  # only for the prompt's own tokens
        flat_logprobs=True,  # lists instead of an object per token
        skip_reading_prefix_cache=not shares_prefix,
        detokenize=False,
    )


def scored(output: Any, request: ScoringRequest) -> Completion | None:
    """Return the scores of a finished request, None where the cache left some of them out.

    The score of a token comes from the state at the token before it, which must not be cached.
    """
    found, n_cached = output.prompt_logprobs, output.num_cached_tokens or 0
    n_tokens, begins = len(request.token_ids), found.start_indices
    if n_cached >= request.n_context or len(begins) not in (n_tokens, n_tokens - n_cached):
        return None
    return scores(found.logprobs[begin] for begin in begins[request.n_context - n_tokens :])
