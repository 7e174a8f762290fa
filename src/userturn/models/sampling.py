"""How one continuation is drawn: temperature, other sampling settings, stops and seed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sampling:
    """How one continuation is drawn. At temperature 0, decoding is greedy and needs no seed.

    Attributes:
        temperature: softmax temperature.
        top_p: nucleus mass, 1 for all.
        top_k: number of candidates, 0 for all.
        presence_penalty: subtracted from the logit of every token already written.
        max_tokens: length limit of the continuation.
        stop_token_ids: tokens that end it.
        seed: seed of this request alone.
        stop_texts: texts that end it, for templates that continue in plain text.
        begins_with: the end of the user header, if the model writes it; not part of its turn.
        is_played: whether it is a user turn that the model writes as its own answer, so that its
            reasoning and what else wraps an answer are not part of it.
    """

    temperature: float
    top_p: float
    top_k: int
    presence_penalty: float
    max_tokens: int
    stop_token_ids: tuple[int, ...]
    seed: int | None
    stop_texts: tuple[str, ...] = ()
    begins_with: str = ""
    is_played: bool = False
