"""What a study's record alone cannot authorise: running, reading or sending anything.

A record can come from anybody. The configuration in the working directory is the user's own and
must agree with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from userturn.config.formats import model_of
from userturn.config.installation import CONFIG
from userturn.config.load import load_study
from userturn.errors import UserError

RESULTS = "results"
SENDING = {"judges": ("base_url", "key_variable"), "models": ("endpoint", "key_variable")}


def is_of_this_folder(results: Path) -> bool:
    """Return whether a results folder is that of the present folder, and so the user's own."""
    return results.resolve() == Path(RESULTS).resolve()


def check_is_own(
    named: Path,
    results: Path,
    recorded: Mapping[str, Any],
    option: str,
    instead: str,
    configfiles: Sequence[str] = (),
) -> None:
    """Check that a study is that of the present folder and configuration, so that it may be run.

    Any other's settings are a stranger's: they start programs, read files and send keys.

    Args:
        named: the study as the user names it: a folder or an archive.
        results: its results folder, where it is now.
        recorded: the configuration in its record.
        option: what the user asked for, such as `--sweep`.
        instead: what is possible without it, in words.
        configfiles: the user's configuration files besides `config.yaml`.

    Raises:
        UserError: it is another's, or of another configuration.
    """
    if not is_of_this_folder(results):
        why = f"is not the `{RESULTS}` of this folder"
    elif not Path(CONFIG).is_file():
        why = f"has no {CONFIG} beside it"
    elif others := list(_others(recorded, load_study(configfiles))):
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        hint = "" if configfiles else ", which `--configfile` may add to"
        why = f"has other settings than {CONFIG} here{hint} ({others[0]}{more})"
    else:
        return
    raise UserError(
        f"`{option}` was refused: '{named}' {why}, and to run a study is to run programs, read "
        f"files and send keys as its settings say; {instead}"
    )


def _others(recorded: Any, own: Any, key: str = "") -> Iterator[str]:
    """Yield the keys of a recorded configuration whose values are not also the user's own."""
    if not (isinstance(recorded, Mapping) and isinstance(own, Mapping)):
        if recorded != own:
            yield key
        return
    for name, value in recorded.items():
        whole = f"{key}.{name}" if key else str(name)
        yield from _others(value, own[name], whole) if name in own else [whole]


def _own(section: str, name: str) -> Mapping[str, Any]:
    config = load_study() if Path(CONFIG).is_file() else {}
    entry = config.get(section, {}).get(name)
    return entry if isinstance(entry, Mapping) else {}


def check_key_may_be_sent(name: str, settings: Mapping[str, Any], section: str = "judges") -> None:
    """Check that not only a study's record names the address to which a key would be sent.

    Args:
        name: of a judge or a model.
        settings: its complete entry.
        section: `judges` or `models`.

    Raises:
        UserError: it needs a key, and the user's own entry for it differs or is missing.
    """
    own, sending = _own(section, name), SENDING[section]
    if "key_variable" in settings and any(own.get(k) != settings.get(k) for k in sending):
        raise UserError(
            f"the record would send the key in {settings['key_variable']} to "
            f"'{settings.get(sending[0])}'; if that is right, put '{name}' with that address and "
            f"variable under `{section}` into {CONFIG} in the folder where you run this"
        )


def check_code_may_run(model: str, entry: Mapping[str, Any]) -> None:
    """Check that not only a study's record allows a model's own code to run.

    Raises:
        UserError: the model brings code, and the user's own entry does not trust it.
    """
    own = _own("models", model_of(model))
    same = own.get("source") == entry["source"] and own.get("trust_remote_code") is True
    if entry["trust_remote_code"] and not same:
        raise UserError(
            f"the model runs its own code; if you trust '{entry['source']}', put '{model}' with "
            f"that source and `trust_remote_code: true` into {CONFIG} where you run this"
        )
