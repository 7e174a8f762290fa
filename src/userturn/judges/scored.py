"""`kind: scored`: an open model, served here, labels a turn by the probability of one letter."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, fsum
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, ClassVar, cast

from userturn.config.entries import Config
from userturn.config.judge_keys import EndpointEntry
from userturn.datasets.messages import Message
from userturn.endpoints.http_errors import UnscoredError
from userturn.endpoints.rate_limit import Pace
from userturn.endpoints.response_body import Received
from userturn.errors import ConfigError
from userturn.judges.asked import judge_turns as judge_turns
from userturn.judges.asked import verdicts as verdicts
from userturn.judges.chat_endpoint import ChatEndpoint
from userturn.judges.decisions import Said
from userturn.judges.judge import Judge
from userturn.judges.letter_prompt import LetterPrompt, letter_prompt, load_lettered_prompts
from userturn.judges.parse_reply import Reply, UnclearReplyError
from userturn.judges.reply_format import ReplyFormat
from userturn.judges.rubric import check_texts, read_rubric, texts_identity
from userturn.judges.verdict import Verdict
from userturn.models.fetch import source_identity
from userturn.prompts.tokenize import TemplateError

if TYPE_CHECKING:
    from userturn.judges.judge import CellToJudge, Judge
    from userturn.judges.reply_format import ReplyFormat


NOT_SHOWN = "the chat template of the judge's model cannot show the conversation"
NAME = "token_id:{}"  # how vLLM names a token, with `return_tokens_as_token_ids`
DIGITS = 6  # of a log-probability in the journal


@dataclass
class LetterEndpoint(ChatEndpoint):
    """A vLLM server that is asked for the log-probabilities of letters.

    Attributes:
        prompt: makes the prompts.
        letter_ids: the token of each letter.
    """

    prompt: LetterPrompt = field(kw_only=True)
    letter_ids: tuple[int, ...] = field(kw_only=True)
    path: ClassVar[str] = "completions"

    @cached_property
    def fixed(self) -> dict[str, Any]:
        """The fields of every request's body except its prompts."""
        ids = list(self.letter_ids)
        return {
            "model": self.settings["model"],
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": 0,
            "logprob_token_ids": ids,
            "allowed_token_ids": ids,  # the token itself is not read
            "return_tokens_as_token_ids": True,
        }

    @property
    def max_output(self) -> int:
        """The number of tokens in a reply: one for each order of the labels."""
        return len(self.prompt.systems)

    def body(self, asked: Sequence[Message]) -> dict[str, Any]:
        """Return the body of a request: the prompt with the labels in each order.

        Raises:
            UnscoredError: the template cannot show the conversation.
        """
        try:
            prompts = self.prompt.token_ids(asked[-1])
        except TemplateError as error:
            raise UnscoredError(str(error), NOT_SHOWN) from None
        return {**self.fixed, "prompt": prompts}

    def read(self, received: Received) -> tuple[Reply, dict[str, Any]]:
        """Return the letters' log-probabilities as JSON, one list for each order, and the usage."""
        parsed = received.parsed
        try:
            choices = sorted(parsed["choices"], key=lambda choice: choice["index"])
            found = [choice["logprobs"]["top_logprobs"][0] for choice in choices]
            names = [NAME.format(token_id) for token_id in self.letter_ids]
            scores = [[round(float(each[name]), DIGITS) for name in names] for each in found]
        except (LookupError, TypeError, ValueError):
            return Reply(None, None, None, self.redacted(received.text)), {}
        model, usage = parsed.get("model"), parsed.get("usage")
        named = model if isinstance(model, str) else None
        reply = Reply(json.dumps(scores), None, "stop", self.redacted(received.text), named)
        return reply, usage if isinstance(usage, dict) else {}


def probabilities(scores: Sequence[float]) -> list[float]:
    """Return the probability of each letter among the letters, from their log-probabilities."""
    most = max(scores)
    weights = [exp(score - most) for score in scores]
    return [weight / fsum(weights) for weight in weights]


def read_scores(reply: Reply, labels: Sequence[str]) -> Said:
    """Return what a reply says: the likeliest label, and the probability of each.

    The probability of a label is its mean over the two orders; in the second, A is the last label.

    Raises:
        UnclearReplyError: the reply has no log-probability of each letter in each order.
    """
    scores = json.loads(reply.content) if reply.content is not None else []
    if [len(each) for each in scores] != [len(labels)] * 2:
        raise UnclearReplyError("the reply has no log-probabilities of the letters", final=True)
    forward, backward = scores[0], scores[1][::-1]
    pairs = zip(probabilities(forward), probabilities(backward), strict=True)
    mean = {label: (a + b) / 2 for label, (a, b) in zip(labels, pairs, strict=True)}
    on_letters = fsum(map(exp, [*forward, *backward])) / 2
    return {
        "label": max(labels, key=lambda label: mean[label]),
        "rationale": _in_words(mean, on_letters),
        "probabilities": {label: round(p, DIGITS) for label, p in mean.items()},
        "log_probabilities": {"forward": forward, "backward": backward},
    }


def _in_words(mean: Mapping[str, float], on_letters: float) -> str:
    """Return the probabilities of the likelier labels, and that of any letter."""
    ranked = sorted(mean, key=lambda label: -mean[label])
    shown = ", ".join(f"{label} {mean[label]:.0%}" for label in ranked if mean[label] >= 0.05)
    return f"{shown}; any letter {on_letters:.0%}"


def letter_format(judge: Judge) -> ReplyFormat:
    """Return how a judge is asked for letters, and how its replies are read."""

    def open_endpoint(url: str, n_at_once: int) -> ChatEndpoint:
        settings = cast("EndpointEntry", judge.settings)
        prompt = letter_prompt(judge.settings)
        pace, ids = Pace(n_at_once), prompt.letter_ids
        return LetterEndpoint(url, settings, None, pace, None, prompt=prompt, letter_ids=ids)

    prompt, _ = load_lettered_prompts(judge.settings)
    return ReplyFormat(prompt, open_endpoint, lambda reply: read_scores(reply, prompt.labels))


IS_DETERMINISTIC = False
SAW_LABELLED_TURNS = False
HAS_ENDPOINT = False
HAS_PROBABILITIES = True
IS_ENGLISH_ONLY = False

VERSION = 1  # of the request and of how its reply is read
# Keys of endpoints that would have no effect here.
FOREIGN = (
    "base_url",
    "key_variable",
    "settings",
    "reply",
    "rationale_characters",
    "batch",
    "draws",
)


def complete(entry: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with defaults for all missing keys; it is always served."""
    own = {"serve": True, "prompt": defaults["scored_prompt"], "settings": {}, "batch": False}
    return {**{key: defaults[key] for key in defaults if key not in FOREIGN}, **own, **entry}


def check(where: str, entry: Mapping[str, Any], config: Config) -> None:
    """Check an entry.

    Raises:
        ConfigError: what is wrong.
    """
    foreign = [key for key in FOREIGN if entry.get(key)]
    if foreign or not entry["serve"]:
        key = (*foreign, "serve: false")[0]
        raise ConfigError(
            f"{where}: `{key}` is for `kind: endpoint`; a scored judge is a model that the "
            "pipeline serves and asks for one letter: remove the key"
        )
    if "model" not in entry:
        raise ConfigError(f"{where}: expected `model`, the source of an open model")
    check_texts(where, entry)
    n_labels = len(read_rubric(entry["rubric"]).labels)
    if n_labels > len(ascii_uppercase):
        raise ConfigError(f"{where}.rubric: has {n_labels} labels, expected at most 26, A to Z")


def identity(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return model, template options, settings of vLLM, and hashes of labels and prompt."""
    return {
        "version": VERSION,
        "source": source_identity(entry["model"], entry.get("revision")),
        "template_options": entry.get("template_options", {}),
        "vllm": entry["vllm"],
        **texts_identity(entry),
    }


def price(entry: Mapping[str, Any], n_calls: float, n_tokens: float) -> None:
    """Return None: what a GPU of one's own costs is not known."""


def recorded_verdicts(
    judge: "Judge", identity: Mapping[str, Any], texts: Mapping[str, str], cell: "CellToJudge"
) -> list[Verdict]:
    """Return the verdicts on a cell in the judge's journal."""
    from userturn.judges.endpoint_verdicts import verdicts_in_journal
    from userturn.judges.letter_prompt import lettered_prompts

    rubric, prompt = (texts[judge.settings[key]] for key in ("rubric", "prompt"))
    return verdicts_in_journal(judge, lettered_prompts(rubric, prompt, identity)[0], cell)


def reply_format(judge: "Judge") -> "ReplyFormat":
    """Return how a judge is asked for letters, and how its replies are read."""
    from userturn.judges.scored import letter_format

    return letter_format(judge)
