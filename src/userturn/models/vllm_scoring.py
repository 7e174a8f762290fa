"""How vLLM scores a text that stands: by `prompt_logprobs`, sharing what prompts begin with.

vLLM 0.32 returns no scores for tokens that it finds in its prefix cache, and by default does not
look there for a request that asks for scores. Here only the end of a prompt is scored, so it does
look, and a request whose cached part reaches into what is scored is asked again without the cache.
"""

from typing import Any

from userturn.models.completion import Completion, scores
from userturn.models.scoring import ScoringRequest


def scoring_parameters(shares_prefix: bool = True) -> Any:
    """Return the parameters of a scoring request; the one token that vLLM must write is ignored."""
    from vllm import SamplingParams

    return SamplingParams(
        temperature=0,
        max_tokens=1,
        prompt_logprobs=0,  # of the prompt's own tokens alone
        flat_logprobs=True,  # lists, not an object for each token
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
