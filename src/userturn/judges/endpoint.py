"""`kind: endpoint`: a model behind an OpenAI-compatible API labels a user turn by a rubric."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from userturn.config.endpoint_models import check_address, check_key_variable
from userturn.config.entries import Config
from userturn.endpoints.usage import MILLION, TOKEN_LIMITS, most_written
from userturn.errors import ConfigError
from userturn.judges.kinds import judge_turns as judge_turns
from userturn.judges.kinds import verdicts as verdicts
from userturn.judges.rubric import check_texts, read_rubric, texts_identity
from userturn.judges.verdict import Verdict, verdict_schema
from userturn.models.fetch import source_identity
from userturn.storage.hashing import fingerprint

if TYPE_CHECKING:
    from userturn.judges.judge import CellToJudge, Judge
    from userturn.judges.session import ReplyFormat

IS_DETERMINISTIC = False
SAW_LABELLED_TURNS = False
HAS_ENDPOINT = True
HAS_PROBABILITIES = False
IS_ENGLISH_ONLY = False

REQUEST_VERSION = 1
# The keys of an entry that shape a verdict. The others are about address, speed and price.
SHAPING = ("model", "settings", "reply", "rationale_characters", "draws")
# Fields of a request that an entry's settings may not have, unless with one of the allowed values.
FIXED_FIELDS = {
    "model": "set `model` of the entry",
    "messages": "set `prompt` and `rubric` of the entry",
    "response_format": "set `reply` of the entry",
    "n": "one reply is read, and each is paid for",
    "stream": "a reply is read whole",
}
ALLOWED = {"n": (1, None), "stream": (False, None)}
TOKENS_OF_A_RUBRIC, TOKENS_OF_A_VERDICT = 1600, 120
N_REQUESTS = 2  # per question at most: the question and one repair
TOKENIZER_MARGIN = 2  # a text may have so many times the tokens that its characters suggest


def complete(entry: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with defaults for all missing keys."""
    return {**defaults, **entry}


def check(where: str, entry: Mapping[str, Any], config: Config) -> None:
    """Check an endpoint's entry, or raise ConfigError without a value that could be an API key."""
    check_key_variable(where, entry)
    if ("base_url" in entry) == entry["serve"]:
        raise ConfigError(f"{where}: expected either `base_url` or `serve: true`")
    if entry["serve"] and entry["batch"]:
        raise ConfigError(f"{where}: a judge that is served here has no Batch API; remove `batch`")
    if not entry["serve"]:
        check_address(f"{where}.base_url", entry["base_url"])
    _check_settings(f"{where}.settings", entry["settings"])
    has_limit = set(TOKEN_LIMITS) & set(entry["settings"])
    if "price" in entry and config["max_cost"] is not None and not has_limit:
        raise ConfigError(
            f"{where}.settings: max_cost needs a limit of the reply's tokens; set "
            "`max_completion_tokens`, or `max_tokens` if the endpoint requires that"
        )
    check_texts(where, entry)


def _check_settings(where: str, settings: Mapping[str, Any]) -> None:
    """Check that `settings` has no field that the program itself sets or cannot read."""
    for name, instead in FIXED_FIELDS.items():
        if name in settings and settings[name] not in ALLOWED.get(name, ()):
            raise ConfigError(f"{where}: `{name}` cannot be set; {instead}")
    for name in TOKEN_LIMITS:
        limit = settings.get(name, 1)
        if not isinstance(limit, int) or limit < 1:
            raise ConfigError(f"{where}.{name}: found {limit!r}, expected a whole number of tokens")


def identity(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return model, settings, form and draws of replies, and hashes of labels, prompt and schema.

    A judge that is served here also has its model's files and vLLM's settings. Address, key, price
    and speed are left out.
    """
    labels = list(read_rubric(entry["rubric"]).labels)
    schema = verdict_schema(labels, entry.get("rationale_characters"))
    served = {}
    if entry["serve"]:
        source = source_identity(entry["model"], entry.get("revision"))
        served = {"source": source, "vllm": entry["vllm"]}
    return {
        "version": REQUEST_VERSION,
        **{key: entry[key] for key in SHAPING if key in entry},
        **texts_identity(entry),
        "schema": fingerprint(schema),
        **served,
    }


def price(entry: Mapping[str, Any], n_calls: float, n_tokens: float) -> tuple[float, float] | None:
    """Return the expected and the largest cost of `n_calls` questions, or None without a price.

    Together they have `n_tokens` besides the rubric. Expected is that each is asked once and gets a
    short reply. At most, each is asked twice, has twice the tokens, and gets replies as long as the
    settings allow.
    """
    rates = entry.get("price")
    if rates is None:
        return None
    n_draws = entry.get("draws", 1)
    n_calls, n_tokens = n_draws * n_calls, n_draws * n_tokens
    n_read = n_tokens + n_calls * TOKENS_OF_A_RUBRIC
    longest = most_written(entry)
    usual = n_read * rates["input"]
    usual += n_calls * min(longest, TOKENS_OF_A_VERDICT) * rates["output"]
    most = N_REQUESTS * (TOKENIZER_MARGIN * n_read * rates["input"])
    most += N_REQUESTS * n_calls * longest * rates["output"]
    return float(usual / MILLION), float(most / MILLION)


def recorded_verdicts(
    judge: "Judge", identity: Mapping[str, Any], texts: Mapping[str, str], cell: "CellToJudge"
) -> list[Verdict]:
    """Return the verdicts on a cell in the judge's journal."""
    from userturn.judges.endpoint_verdicts import verdicts_in_journal
    from userturn.judges.question import judge_prompt

    rubric, prompt = (texts[judge.settings[key]] for key in ("rubric", "prompt"))
    return verdicts_in_journal(judge, judge_prompt(rubric, prompt, identity), cell)


def reply_format(judge: "Judge") -> "ReplyFormat":
    """Return how a judge is asked for JSON: its prompt, its endpoint, and the reader of replies."""
    from userturn.judges.endpoint_verdicts import json_format

    return json_format(judge)
