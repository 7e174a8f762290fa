"""Score a given text with vLLM through `prompt_logprobs`, using the prefix cache.

vLLM 0.32 returns no scores for tokens in its prefix cache, so by default it does not use the cache
for requests that ask for scores. Here only the end of a prompt is scored, so the cache is used, and
a request whose cached part reaches into the scored tokens is sent again without the cache.
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
    if (output.num_cached_tokens or 0) >= request.n_context:
        return None
    found = output.prompt_logprobs
    begins = found.start_indices[request.n_context :]
    return scores(found.logprobs[begin] for begin in begins)
