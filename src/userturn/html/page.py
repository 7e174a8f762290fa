"""HTML pages that open from a file: data is escaped, and the policy lets only their script run."""

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

FOLDER = files("userturn").joinpath("html", "assets")
CSV_SCRIPT = FOLDER.joinpath("csv.js")  # of every page that saves CSV
PARTS = {"script-src": "script", "style-src": "style"}


def read_page(name: str, **parts: str) -> str:
    """Return a template of `assets/` filled with `parts` by placeholder and what all pages have."""
    page = FOLDER.joinpath(name).read_text("utf-8")
    for placeholder, text in {
        **parts,
        "head": FOLDER.joinpath("head.html").read_text("utf-8"),
        "common": FOLDER.joinpath("common.css").read_text("utf-8"),
    }.items():
        page = page.replace("{{" + placeholder + "}}", text)
    return page


def embedded(value: Any) -> str:
    """Return JSON that cannot end its script element: <, >, & and line separators are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def policy(page: str, **more: str) -> str:
    """Return a content security policy under which only a page's own parts run, by their hashes.

    Further sources are named by directive, with _ for its hyphen: `script_src="'self'"`.
    """
    directives = {"default-src": ["'none'"], "base-uri": ["'none'"], "form-action": ["'none'"]}
    for directive, tag in PARTS.items():
        contents = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(c.encode()).digest()).decode() for c in contents]
        directives[directive] = [f"'sha256-{digest}'" for digest in digests]
    for name, source in more.items():
        directives.setdefault(name.replace("_", "-"), []).append(source)
    return "; ".join(" ".join([name, *sources]) for name, sources in directives.items())
