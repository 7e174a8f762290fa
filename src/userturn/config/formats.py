"""Prompt formats: other ways of writing the same conversation for the same model.

`default` is the model's entry as it is. A model in another format is a line of the grid named
`model+format`, so that its cells, answers and journals have their own paths. User turns are asked
for either raw, under the user header, or in role-play, by an instruction.

Models behind a chat API (`api: chat`) receive messages and play the user. Their tokenizer and
template are unknown. Our stand-in has a token per byte and a token before and after each message.
So their prompts are written, planned, hashed and audited like those of any model, and split into
messages when they are sent.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from userturn.config.entries import Config, selected
from userturn.config.model_keys import ModelEntry
from userturn.errors import ConfigError, check_name
from userturn.storage.hashing import file_sha256

DEFAULT = "default"
BETWEEN = "+"
NO_SYSTEM = "none"  # instead of a file: no system prompt
TEMPLATES_OWN = "template"  # instead of a file: the system prompt that the chat template writes
HEADERS = ("user_header", "header")  # keys of an entry that cut the template's own header short
Entry = TypeVar("Entry")
CHAT = "chat"
STAND_IN = "./data/chat_api"  # tokenizer and template of messages
LONGEST_CHAT = 10_000_000  # bytes of a prompt and its reply: the server says what is too long
# What an entry says of prompts or tokens that the server alone writes.
OF_THE_SERVER = (
    "revision",
    "user_header",
    "header",
    "stop",
    "merge_system_message",
    "trust_remote_code",
    "chat_template",
    "enable_thinking",
    "template_options",
    "max_model_len",
)
RAW, ROLE_PLAY = "raw", "role_play"
SWAPPED, QUOTED = "swapped", "quoted"
INSTRUCTION = "data/role_play_prompt.txt"
PLAYED = "role play"  # in a description, instead of how much of the user header is shown
OF_ROLE_PLAY = ("roles", "instruction")  # keys that say how the user is played
OF_THE_PROBE = ("probe", *OF_ROLE_PLAY)  # keys that change no prompt for an answer


def name_in_format(model: str, name: str) -> str:
    """Return the name of a model in a format, which in `default` is the model's own name."""
    return model if name == DEFAULT else f"{model}{BETWEEN}{name}"


def model_of(name: str) -> str:
    """Return the model of a name such as `model+format`."""
    return name.partition(BETWEEN)[0]


def format_of(name: str) -> str:
    """Return the format of a name such as `model+format`, or `default` if the name has none."""
    return name.partition(BETWEEN)[2] or DEFAULT


def default_format_models(models: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the models in the default format, without the same models in other formats."""
    return {name: entry for name, entry in models.items() if format_of(name) == DEFAULT}


def models_in_other_formats(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return (name, name in the default format) of each model in another format, sorted."""
    return sorted((name, model_of(name)) for name in names if format_of(name) != DEFAULT)


def formats(config: Config) -> dict[str, Mapping[str, Any]]:
    """Return the formats of a run besides `default`, sorted by name."""
    defined = {DEFAULT: {}, **config.get("formats", {})}
    names = config.get("run", {}).get("formats", defined)
    return {name: defined[name] for name in sorted(names) if name != DEFAULT}


def models_in_formats(config: Config) -> list[str]:
    """Return the names of a run's models in each of the run's formats that takes them, sorted."""
    models = list(selected(config, "models"))
    others = [
        name_in_format(model, name)
        for name, entry in formats(config).items()
        for model in models
        if model in entry.get("models", models)
    ]
    return sorted([*models, *others])


def entry_in_format(entry: ModelEntry, name: str, choices: Mapping[str, Any]) -> ModelEntry:
    """Return a model's complete entry, changed by the `choices` of the format `name`."""
    changed: dict[str, Any] = {**entry}
    if "base" in entry:
        changed["base"] = name_in_format(entry["base"], name)
    if "header" in choices:
        changed = {key: value for key, value in changed.items() if key not in HEADERS}
        changed |= {"header": "bare"} if choices["header"] == "bare" else {}
    if "probe" in choices:
        changed = {key: value for key, value in changed.items() if key not in OF_THE_PROBE}
        changed |= probe_keys(choices)
    if "system" in choices:
        changed["system"] = choices["system"]
    if "thinking" in choices:
        changed["enable_thinking"] = choices["thinking"]
    if "reasoning_effort" in choices:
        effort = {"reasoning_effort": choices["reasoning_effort"]}
        changed["template_options"] = {**entry.get("template_options", {}), **effort}
    if "answer" in choices:
        changed["answer"] = {**entry.get("answer", {}), **choices["answer"]}
    return cast("ModelEntry", changed)


def answers_as(models: Mapping[str, Mapping[str, Any]], name: str) -> str | None:
    """Return the model that has the same answers as `model+format`, or None if they differ."""
    model = model_of(name)
    if name == model or model not in models:
        return None
    # Two entries ask for answers by the same requests if they differ in keys of the probe alone.
    one, other = (
        {key: value for key, value in models[of].items() if key not in OF_THE_PROBE}
        for of in (name, model)
    )
    return model if one == other else None


def system_file(entry: Mapping[str, Any]) -> str | None:
    """Return the path of the system prompt of a model or a format, or None if there is no file."""
    system = entry.get("system", TEMPLATES_OWN)
    return None if system in (NO_SYSTEM, TEMPLATES_OWN) else str(system)


def check_formats(config: Config) -> None:
    """Check formats, and the keys of formats in models' entries, or raise ConfigError."""
    entries = config.get("formats", {})
    _check_run(config, entries)
    models = {n: e for n, e in config["models"].items() if isinstance(e, Mapping)}
    for name, entry in models.items():
        if set(HEADERS) <= set(entry):
            raise ConfigError(
                f"models.{name}: found both `user_header` and `header`; remove one of the two"
            )
        _check_texts(f"models.{name}", entry)
    for name, entry in entries.items():
        for model in entry.get("models", ()):
            check_name(f"formats.{name}.models", model, config["models"], "not a model")
        for model in entry.get("models", models):
            if is_chat(models.get(model, {})):
                check_chat_probe(f"formats.{name}", entry)
        _check_texts(f"formats.{name}", entry)


def _check_texts(where: str, entry: Mapping[str, Any]) -> None:
    path = system_file(entry)
    if path is not None and not Path(path).is_file():
        raise ConfigError(
            f"{where}.system: the file '{path}' does not exist; expected a file with a system "
            f"prompt, `{NO_SYSTEM}` or `{TEMPLATES_OWN}`"
        )
    check_probe(where, entry)


def _check_run(config: Config, entries: Mapping[str, Any]) -> None:
    if entries.get(DEFAULT):
        raise ConfigError(
            f"formats.{DEFAULT}: found {entries[DEFAULT]}, expected {{}}, since it is each model's "
            "entry as it is; write the choices into the model's entry, or give the format a name"
        )
    chosen = config.get("run", {}).get("formats", [DEFAULT])
    for name in chosen:
        if name != DEFAULT and not entries:
            raise ConfigError(
                f"run.formats: found '{name}', and the configuration defines no formats; define it "
                f"as `formats: {{{name}: {{system: none}}}}` with its own choices, "
                "or leave run.formats out"
            )
        if name != DEFAULT:
            check_name("run.formats", name, entries, "not defined")
    if DEFAULT not in chosen:
        raise ConfigError(
            f"run.formats: found {chosen} without '{DEFAULT}', with which the others are compared; "
            "add it: what it has finished is not run again"
        )


def is_chat(entry: Mapping[str, Any]) -> bool:
    """Return whether a model is asked through a chat API."""
    return entry.get("api") == CHAT


def as_chat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a model behind a chat API, with the stand-in as its source.

    The former `source` becomes `served_as`, its name on the server, unless that key is given.
    """
    named = {"served_as": entry["source"], "probe": ROLE_PLAY, **entry}
    return {**named, "source": STAND_IN, "revision": "main", "max_model_len": LONGEST_CHAT}


def check_chat_model(where: str, entry: Mapping[str, Any]) -> None:
    """Check that an entry with a chat API leaves prompts and tokens to it, or raise ConfigError."""
    if forbidden := [key for key in OF_THE_SERVER if key in entry]:
        raise ConfigError(
            f"{where}: found `{forbidden[0]}` beside `api: {CHAT}`; a chat API takes messages, and "
            f"its server alone knows tokens and template: remove `{forbidden[0]}`, or `api`"
        )
    check_chat_probe(where, entry)


def check_chat_probe(where: str, entry: Mapping[str, Any]) -> None:
    """Check that a model behind a chat API is not asked for the raw probe, or raise ConfigError."""
    if entry.get("probe") == RAW:
        raise ConfigError(
            f"{where}: found `probe: {RAW}` for a model with `api: {CHAT}`; a chat API has no user "
            f"header to write under, so such a model can only play the user: set {ROLE_PLAY}, or "
            "leave the model out"
        )


def plays_the_user(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry's probe tells the model to play the user."""
    return entry.get("probe") == ROLE_PLAY


def is_played(description: Mapping[str, Any]) -> bool:
    """Return whether a model, by its description, writes user turns in role-play."""
    return description.get("header") == PLAYED


def roles_of(entry: Mapping[str, Any]) -> str:
    """Return how role-play shows the conversation: `swapped` (roles) or `quoted` (as text)."""
    return str(entry.get("roles", SWAPPED))


def instruction_file(entry: Mapping[str, Any]) -> str:
    """Return the path of the instruction of an entry's role-play."""
    return str(entry.get("instruction", INSTRUCTION))


def probe_keys(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of an entry that say how user turns are asked for."""
    return {key: entry[key] for key in OF_THE_PROBE if key in entry}


def identifying_probe(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the part of an identity that role-play adds, which is empty for the raw probe."""
    if not plays_the_user(entry):
        return {}
    instruction = file_sha256(instruction_file(entry))
    return {**probe_keys(entry), "roles": roles_of(entry), "instruction": instruction}


def check_probe(where: str, entry: Mapping[str, Any]) -> None:
    """Check an entry's keys of role-play and its instruction's file, or raise ConfigError."""
    if not plays_the_user(entry):
        for key in OF_ROLE_PLAY:
            if key in entry:
                raise ConfigError(
                    f"{where}: found `{key}` without `probe: {ROLE_PLAY}`, which alone reads it; "
                    f"add that, or remove `{key}`"
                )
        return
    path = Path(instruction_file(entry))
    if not path.is_file() or not path.read_text(encoding="utf-8").strip():
        fault = "is empty" if path.is_file() else "does not exist"
        raise ConfigError(
            f"{where}.instruction: the file '{path}' {fault}; expected a file with what the model "
            f"is told, such as {INSTRUCTION}"
        )
