"""What a study's record alone cannot authorise: sending a key, running a model's own code.

A record can come from anybody. The configuration in the working directory is the user's own and
must agree with it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.config.formats import model_of
from userturn.config.installation import CONFIG
from userturn.config.load import load_study
from userturn.errors import UserError

SENDING = {"judges": ("base_url", "key_variable"), "models": ("endpoint", "key_variable")}


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
