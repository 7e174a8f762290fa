"""The generated configuration reference: every key with its type, default and meaning.

`python -m userturn.config.reference` rewrites `docs/reference_config.md`. A test fails if the page
is stale.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from userturn.config.load import load_config
from userturn.config.schema import config_schema, properties_of

PAGE = Path("docs", "reference_config.md")
DOCUMENT = re.compile(r"docs/(\w+\.md)")
HEAD = """\
# Configuration reference

Every key of `config.yaml`. `<name>` stands for a name that you choose; defaults are those of the
shipped `config.yaml`. This page is generated from `config/*_keys.py` and
`config/job_resources.py`: run `python -m userturn.config.reference` after a change.
"""
# Where the defaults of a key's entries are; None where the shipped values are a study's choice.
DEFAULTS = {
    "models": "model_defaults",
    "judges": "judge_defaults",
    **dict.fromkeys(("run", "datasets", "perturbations")),
}
LONGEST = 50  # characters of a default in the table

Node = Mapping[str, Any]


class Row(NamedTuple):
    """A key by its dotted path, with its JSON Schema and its default or None."""

    key: str
    schema: Node
    default: Any


def rows(key: str, schema: Node, default: Any) -> Iterator[Row]:
    """Yield a key and all keys below it, in the order of the schema."""
    yield Row(key, schema, default)
    entry = schema.get("additionalProperties")
    if "properties" not in schema and isinstance(entry, Mapping):
        yield from list(rows(f"{key}.<name>", entry, default))[1:]
    for name, below in properties_of(schema).items():
        own = default.get(name) if isinstance(default, Mapping) else None
        yield from rows(f"{key}.{name}", below, own)


def type_of(schema: Node) -> str:
    """Return the values that a key accepts in words, such as "integer, at least 1"."""
    if "enum" in schema:
        values = ", ".join(f"`{value}`" for value in schema["enum"])
        return values if len(schema["enum"]) == 1 else f"one of {values}"
    if "oneOf" in schema and "type" not in schema:
        return " or ".join(map(type_of, schema["oneOf"])).replace("`False`", "`off`")
    kind = schema.get("type", "any")
    words = [kind if isinstance(kind, str) else " or ".join(kind)]
    limits = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most"}
    words += [f"{phrase} {schema[key]}" for key, phrase in limits.items() if key in schema]
    return ", ".join(words)


def default_of(row: Row) -> str:
    """Return a row's default in YAML, or an empty text if the keys below have their own."""
    if row.default is None or properties_of(row.schema):
        return ""
    text = json.dumps(row.default, ensure_ascii=False)
    return f"`{text}`" if len(text) <= LONGEST else "see `config.yaml`"


def reference(schema: Node, config: Node) -> str:
    """Return the reference page in Markdown."""
    parts = [HEAD]
    for name, below in schema["properties"].items():
        key = DEFAULTS.get(name, name)  # entries have their defaults in `*_defaults`
        key_rows = list(rows(name, below, None if key is None else config.get(key)))
        parts.append(f"\n## {name}\n\n{key_rows[0].schema.get('description', '')}\n")
        parts.append("\n| key | type | default | meaning |\n|---|---|---|---|\n")
        shown = key_rows[1:] or key_rows
        for row in shown:
            meaning = row.schema.get("description", "")
            cells = (f"`{row.key}`", type_of(row.schema), default_of(row), meaning)
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    return DOCUMENT.sub(r"[\g<0>](\1)", "".join(parts))


def main() -> None:
    """Rewrite the reference page in the project's folder, the present one."""
    PAGE.write_text(reference(config_schema(), load_config(["config.yaml"])), encoding="utf-8")


if __name__ == "__main__":
    main()
