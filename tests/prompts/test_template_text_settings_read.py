"""Which settings of a model change no prompt, told from its template's text."""

import json
from pathlib import Path

import pytest

from userturn.prompts.template_text import effective, settings_read, settings_read_in

SETTINGS = {
    "dtype": "float32",
    "enable_thinking": True,
    "today": "2026-01-01",
    "trust_remote_code": True,
    "template_options": {"effort": "low", "other": 1},
}


@pytest.mark.parametrize(
    ("template", "has_code", "read"),
    [
        ("{% for m in messages %}{{ m.content }}{% endfor %}", False, {"messages"}),
        (
            "{% if enable_thinking %}{{ messages[0] }}{% endif %}",
            False,
            {"enable_thinking", "messages"},
        ),
        ("{{ strftime_now('%Y') }}", False, {"strftime_now", "today"}),
        ("{% set effort = 1 %}{{ effort }}", True, {"trust_remote_code"}),
        ("{% if effort is defined %}{{ effort }}{% endif %}", False, {"effort"}),
    ],
)
def test_a_name_is_read_if_the_template_looks_it_up(
    template: str, has_code: bool, read: set[str]
) -> None:
    assert set(settings_read(template, has_code) or ()) == read


def test_of_a_template_that_cannot_be_parsed_every_setting_counts() -> None:
    assert settings_read("{% generation %}x{% endgeneration %}", False) is None
    assert effective(SETTINGS, None) == SETTINGS


def test_settings_that_are_not_read_are_left_out() -> None:
    assert effective(SETTINGS, ["effort"]) == {
        "dtype": "float32",
        "template_options": {"effort": "low"},
    }
    assert effective(SETTINGS, []) == {"dtype": "float32"}


def test_a_folder_is_read_without_its_tokenizer(tmp_path: Path) -> None:
    assert settings_read_in(tmp_path) is None
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"chat_template": "{{ a }}", "auto_map": {}}))
    assert settings_read_in(tmp_path) == ["a", "trust_remote_code"]
    (tmp_path / "chat_template.jinja").write_text("{{ b }}")
    assert settings_read_in(tmp_path) == ["b", "trust_remote_code"]
    own = tmp_path / "own.jinja"
    own.write_text("{{ c }}")
    assert settings_read_in(tmp_path, str(own)) == ["c", "trust_remote_code"]
