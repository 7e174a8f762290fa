"""Which settings of a model its chat template reads; the others change no prompt."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from userturn.storage.files import given_object, given_text

CODE = "trust_remote_code"
TODAY = "today"
THINKING = "enable_thinking"
OPTIONS = "template_options"


def settings_read(template: str, has_code: bool) -> list[str] | None:
    """Return the names that a template and its folder read; None if the template is not known.

    Args:
        template: text of the chat template.
        has_code: whether the folder has code of its own.
    """
    from jinja2 import Environment, TemplateSyntaxError
    from jinja2.meta import find_undeclared_variables

    try:
        parsed = Environment(extensions=["jinja2.ext.loopcontrols"]).parse(template)
    except TemplateSyntaxError:
        return None  # such as one with tags of its own
    names = set(find_undeclared_variables(parsed))
    names |= {TODAY} if "strftime_now" in names else set()
    return sorted(names | ({CODE} if has_code else set()))


def has_own_code(folder: Path) -> bool:
    """Return whether a model's folder has code that `trust_remote_code` lets run."""
    return any(folder.glob("*.py")) or any(
        "auto_map" in given_object(path)
        for path in (folder / "config.json", folder / "tokenizer_config.json")
        if path.is_file()
    )


def settings_read_in(folder: Path, own: str | None = None) -> list[str] | None:
    """Return what a model's template reads, without loading its tokenizer.

    Args:
        folder: of the model.
        own: path of the template that its entry has in place of the folder's, if any.
    """
    path, config = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    if own or path.is_file():
        template: Any = given_text(own or path)
    else:
        template = given_object(config).get("chat_template") if config.is_file() else None
    return settings_read(template, has_own_code(folder)) if isinstance(template, str) else None


def effective(settings: Mapping[str, Any], read: Collection[str] | None) -> dict[str, Any]:
    """Return a model's settings without those that its template does not read; None: all are."""
    if read is None:
        return dict(settings)
    needless = {CODE, TODAY, THINKING} - set(read)
    left = {name: value for name, value in settings.items() if name not in needless}
    options = {name: value for name, value in left.pop(OPTIONS, {}).items() if name in read}
    return left | ({OPTIONS: options} if options else {})
