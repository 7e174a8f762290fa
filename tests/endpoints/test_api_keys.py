"""A key is found in whatever form it comes back, and what is too short to be one is refused."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from userturn.endpoints.api_keys import SHORTEST_KEY, read_key, remove_key
from userturn.errors import UserError

KEY = "sk-proj/Canary+7a1c90_xyz=="
characters = st.characters(min_codepoint=33, max_codepoint=126)
keys = st.text(characters, min_size=12, max_size=40)


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        f"Bearer {KEY}",
        quote(KEY),
        quote(KEY, safe=""),
        quote_plus(KEY),
        quote(quote(KEY, safe=""), safe=""),
        json.dumps(KEY).replace("/", "\\/"),
        "".join(f"\\u{ord(c):04x}" for c in KEY),
        "".join(f"\\u{ord(c):04X}" for c in KEY),
        "".join(f"\\\\u{ord(c):04x}" for c in KEY),
        "".join(f"&#{ord(c)};" for c in KEY),
        "".join(f"&#x{ord(c):X};" for c in KEY),
        KEY[:9] + "".join(f"%{ord(c):02X}" for c in KEY[9:]),
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
    ],
)
def test_key_in_any_form_is_replaced_and_nothing_else(form: str) -> None:
    found = remove_key(f"before {form} after", KEY)
    assert found.startswith("before ") and found.endswith(" after")
    assert "[key]" in found and len(found) <= len("before Bearer [key] after") + 2


@given(key=keys, before=st.text(max_size=5), after=st.text(max_size=5))
def test_key_inside_a_base64_text_leaves_no_part_that_tells_it(
    key: str, before: str, after: str
) -> None:
    data = before.encode() + key.encode() + after.encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(data).decode()
        cleaned = remove_key(text, key)
        assert "[key]" in cleaned
        assert len(cleaned) - len("[key]") <= len(text) - (len(key) * 8 // 6 - 2)


@given(key=keys, text=st.text(max_size=200))
def test_text_without_the_key_stays_as_it_is(key: str, text: str) -> None:
    if key not in html.unescape(text):
        assert remove_key(text, key) == text


@pytest.mark.parametrize("key", ["a", "_", "turn", "sk-xyzw", "sk-canary 7a1c90", "sk-\nabcdefgh"])
def test_what_can_be_no_key_is_refused(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", key)
    with pytest.raises(UserError, match="JUDGE_KEY holds no key: found"):
        read_key("j", {"key_variable": "JUDGE_KEY"})


def test_key_of_the_least_length_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", f" {'k' * SHORTEST_KEY}\n")
    assert read_key("j", {"key_variable": "JUDGE_KEY"}) == "k" * SHORTEST_KEY
    assert read_key("j", {}) is None


def test_a_missing_key_is_told_with_what_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with pytest.raises(UserError, match=r"`export JUDGE_KEY=\.\.\.`, or choose another model"):
        read_key("m", {"key_variable": "JUDGE_KEY"}, "model")
