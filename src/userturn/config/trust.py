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


def is_of_this_folder(results: Path) -> bool:
    """Return whether a results folder is that of the present folder, and so the user's own.

    Without a configuration beside it, it is of an archive that was unpacked here.
    """
    return results.resolve() == Path(RESULTS).resolve() and Path(CONFIG).is_file()


def why_not_own(
    results: Path, recorded: Mapping[str, Any], configfiles: Sequence[str] = ()
) -> str | None:
    """Return why a study is not that of the present folder and configuration; None if it is.

    Args:
        results: its results folder, where it is now.
        recorded: the configuration in its record.
        configfiles: the user's configuration files besides `config.yaml`.
    """
    if not is_of_this_folder(results):
        return f"is not the `{RESULTS}` of this folder with a {CONFIG} beside it"
    if others := list(_others(recorded, load_study(configfiles))):
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        hint = "" if configfiles else ", which `--configfile` may add to"
        return f"has other settings than {CONFIG} here{hint} ({others[0]}{more})"
    return None


def _others(recorded: Any, own: Any, key: str = "") -> Iterator[str]:
    """Yield the keys of a recorded configuration whose values are not also the user's own."""
    if not (isinstance(recorded, Mapping) and isinstance(own, Mapping)):
        if recorded != own:
            yield key
        return
    for name, value in recorded.items():
        whole = f"{key}.{name}" if key else str(name)
        yield from _others(value, own[name], whole) if name in own else [whole]


def check_code_may_run(model: str, entry: Mapping[str, Any]) -> None:
    """Check that not only a study's record allows a model's own code to run.

    Raises:
        UserError: the model brings code, and the user's own entry does not trust it.
    """
    config = load_study() if Path(CONFIG).is_file() else {}
    entry_here = config.get("models", {}).get(model_of(model))
    own = entry_here if isinstance(entry_here, Mapping) else {}
    same = own.get("source") == entry["source"] and own.get("trust_remote_code") is True
    if entry["trust_remote_code"] and not same:
        raise UserError(
            f"the model runs its own code; if you trust '{entry['source']}', put '{model}' with "
            f"that source and `trust_remote_code: true` into {CONFIG} where you run this"
        )
