"""`kind: scored`: an open model, served here, labels a turn by the probability of one letter."""

from collections.abc import Mapping
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from userturn.config.entries import Config
from userturn.errors import ConfigError
from userturn.judges.kinds import judge_turns as judge_turns
from userturn.judges.kinds import verdicts as verdicts
from userturn.judges.rubric import check_texts, read_rubric, texts_identity
from userturn.judges.verdict import Verdict
from userturn.models.fetch import source_identity

if TYPE_CHECKING:
    from userturn.judges.judge import CellToJudge, Judge
    from userturn.judges.session import ReplyFormat

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
    """Return an entry with defaults for all missing keys, among them `serve: true`."""
    own = {"serve": True, "prompt": defaults["scored_prompt"], "settings": {}, "batch": False}
    return {**{key: defaults[key] for key in defaults if key not in FOREIGN}, **own, **entry}


def check(where: str, entry: Mapping[str, Any], config: Config) -> None:
    """Check the entry of a scored judge, or raise ConfigError."""
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
    """Return None, since the cost of the user's own GPU is not known."""


def recorded_verdicts(
    judge: "Judge", identity: Mapping[str, Any], texts: Mapping[str, str], cell: "CellToJudge"
) -> list[Verdict]:
    """Return the verdicts on a cell in the judge's journal."""
    from userturn.judges.endpoint_verdicts import verdicts_in_journal
    from userturn.judges.letters import lettered_prompts

    rubric, prompt = (texts[judge.settings[key]] for key in ("rubric", "prompt"))
    return verdicts_in_journal(judge, lettered_prompts(rubric, prompt, identity)[0], cell)


def reply_format(judge: "Judge") -> "ReplyFormat":
    """Return the prompt, endpoint and reader of replies of a judge that is asked for letters."""
    from userturn.judges.letters import letter_format

    return letter_format(judge)
