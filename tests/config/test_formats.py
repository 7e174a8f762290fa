"""A format is a choice of how prompts are written, and never one more model."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.endpoint_models import check_endpoint_models
from userturn.config.families import FamilyMember, baselines, families
from userturn.config.formats import (
    STAND_IN,
    answers_as,
    check_formats,
    entry_in_format,
    format_of,
    model_of,
)
from userturn.config.load import load_config
from userturn.config.trained_models import complete_entries
from userturn.errors import ConfigError
from userturn.sources.registry import check_study
from userturn.study.grid import Grid

FORMATS = {"default": {}, "no_system": {"system": "none"}, "thinking": {"thinking": True}}


def study(**changes: Any) -> dict[str, Any]:
    config = load_config([ROOT / "config.yaml"])
    config["models"] = {"m-1b": "org/m", "n-2b": {"source": "org/n", "base": "m-1b"}}
    config["run"] = {"datasets": ["gsm8k"], "judges": ["heuristic"], **changes.pop("run", {})}
    return config | changes


@pytest.fixture(autouse=True)
def in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_name_holds_model_and_format() -> None:
    assert (model_of("m-1b+no_system"), format_of("m-1b+no_system")) == ("m-1b", "no_system")
    assert (model_of("m-1b"), format_of("m-1b")) == ("m-1b", "default")


def test_every_model_is_run_in_every_format_that_does_not_leave_it_out() -> None:
    formats = FORMATS | {"bare": {"header": "bare", "models": ["n-2b"]}}
    assert list(Grid(study(formats=formats)).models) == [
        *("m-1b", "m-1b+no_system", "m-1b+thinking"),
        *("n-2b", "n-2b+bare", "n-2b+no_system", "n-2b+thinking"),
    ]
    some = Grid(study(formats=formats, run={"formats": ["default", "bare"], "models": ["m-1b"]}))
    assert list(some.models) == ["m-1b"]


def test_what_was_finished_keeps_its_identity_when_formats_are_added() -> None:
    plain, more = Grid(study()), Grid(study(formats=FORMATS))
    kept = [cell for cell in more.cells if cell in plain.cells]
    assert kept == plain.cells
    assert [more.cell_identity(c) for c in kept] == [plain.cell_identity(c) for c in kept]
    assert more.model_fingerprint("m-1b") == plain.model_fingerprint("m-1b")
    assert Grid(study(formats={"default": {}})).cells == plain.cells


def test_cells_of_each_format_have_identities_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "terse.txt"
    path.write_text("Be brief.")
    formats = FORMATS | {"terse": {"system": str(path)}}
    first = Grid(study(formats=formats))
    found = {name: first.answers_identity(name, "gsm8k") for name in first.models}
    assert len(set(found.values())) == len(found) == 8
    path.write_text("Be long.")
    again = Grid(study(formats=formats))
    changed = {name for name in found if again.answers_identity(name, "gsm8k") != found[name]}
    assert changed == {"m-1b+terse", "n-2b+terse"}


def test_format_changes_only_what_it_names() -> None:
    entry: Any = {
        "source": "org/m",
        "enable_thinking": False,
        "user_header": "<|start|>user",
        "template_options": {"a": 1},
        "answer": {"temperature": 0.5},
        "base": "b",
    }
    choices = {
        "header": "complete",
        "system": "none",
        "thinking": True,
        "reasoning_effort": "high",
        "answer": {"max_tokens": 9},
    }
    assert entry_in_format(entry, "f", choices) == {
        "source": "org/m",
        "enable_thinking": True,
        "template_options": {"a": 1, "reasoning_effort": "high"},
        "answer": {"temperature": 0.5, "max_tokens": 9},
        "system": "none",
        "base": "b+f",
    }
    assert entry_in_format(entry, "f", {}) == entry | {"base": "b+f"}
    bare = entry_in_format(entry, "f", {"header": "bare"})
    assert (bare["header"], "user_header" in bare) == ("bare", False)


def test_family_has_no_member_more_and_a_base_is_in_the_same_format() -> None:
    grid = Grid(study(formats={"f": {"thinking": True}}))
    assert families(grid.models) == [
        FamilyMember("m-1b", "m", 1, 1),
        FamilyMember("m-1b+f", "m+f", 1, 1),
        FamilyMember("n-2b", "n", 2, 2),
        FamilyMember("n-2b+f", "n+f", 2, 2),
    ]
    assert baselines(grid.models, grid.entries) == [("n-2b", "m-1b"), ("n-2b+f", "m-1b+f")]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"run": {"formats": ["thinkin"]}, "formats": FORMATS}, "'thinkin' is not defined"),
        ({"run": {"formats": ["thinking"]}, "formats": FORMATS}, "without 'default'"),
        ({"formats": {"default": {"thinking": True}}}, "since it is each model's entry as it is"),
        ({"formats": {"f": {"system": "no/file.txt"}}}, "the file 'no/file.txt' does not exist"),
        ({"formats": {"f": {"models": ["x"]}}}, "formats.f.models: 'x' is not a model"),
        ({"formats": {"f": {"sistem": "none"}}}, "unknown key 'sistem'"),
        ({"formats": {"a+b": {}}}, "the name 'a+b' may only contain"),
    ],
)
def test_formats_that_cannot_be_are_refused_in_a_sentence(
    changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence.replace("+", r"\+")):
        check_study(study(**changes))


def test_entry_with_two_headers_is_refused() -> None:
    config = study()
    config["models"]["m-1b"] = {"source": "org/m", "user_header": "U", "header": "bare"}
    with pytest.raises(ConfigError, match="both `user_header` and `header`"):
        check_formats(config)


CHAT = {"source": "gpt-x", "endpoint": "http://host:8000/v1", "api": "chat"}


@pytest.fixture
def chats(config: dict[str, Any]) -> dict[str, Any]:
    return config | {"models": {"open": "org/open", "closed": CHAT}, "run": {}}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"roles": "quoted"}, "formats.played: found `roles` without `probe: role_play`"),
        ({"instruction": "x"}, "formats.played: found `instruction` without `probe: role_play`"),
        (
            {"probe": "role_play", "instruction": "no/such.txt"},
            "formats.played.instruction: the file 'no/such.txt' does not exist",
        ),
        ({"probe": "raw"}, "formats.played: found `probe: raw` for a model with `api: chat`"),
    ],
)
def test_format_that_cannot_be_asked_for_is_refused(
    chats: dict[str, Any], entry: dict[str, Any], said: str
) -> None:
    chats["formats"] = {"played": entry}
    with pytest.raises(ConfigError) as error:
        check_formats(chats)
    assert str(error.value).startswith(said)


def test_instruction_without_text_is_refused(chats: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" \n")
    chats["formats"] = {
        "played": {"probe": "role_play", "instruction": str(tmp_path / "empty.txt")}
    }
    with pytest.raises(ConfigError, match="is empty; expected a file with what the model is told"):
        check_formats(chats)


@pytest.mark.parametrize(
    "key", ["user_header", "header", "stop", "chat_template", "enable_thinking", "max_model_len"]
)
def test_what_only_a_chat_server_knows_is_refused_by_name(chats: dict[str, Any], key: str) -> None:
    chats["models"]["closed"] = {**CHAT, key: "x"}
    with pytest.raises(ConfigError, match=f"models.closed: found `{key}` beside `api: chat`"):
        check_endpoint_models(chats)


def test_chat_api_without_an_address_is_refused(chats: dict[str, Any]) -> None:
    chats["models"]["closed"] = {"source": "gpt-x", "api": "chat"}
    with pytest.raises(ConfigError, match=r"models.closed: found `api` without `endpoint`"):
        check_endpoint_models(chats)


def test_model_behind_a_chat_api_plays_the_user_under_its_own_name(chats: dict[str, Any]) -> None:
    entry = complete_entries(chats, "results")["closed"]
    assert (entry["source"], entry["served_as"]) == (STAND_IN, "gpt-x")
    assert entry["probe"] == "role_play"


def test_role_play_has_the_answers_of_the_raw_probe_and_another_header_has_not() -> None:
    raw = {"source": "org/open", "enable_thinking": False}
    choices = {"played": {"probe": "role_play", "roles": "quoted"}, "bare": {"header": "bare"}}
    models: dict[str, Any] = {"open": raw}
    models |= {f"open+{n}": entry_in_format(raw, n, c) for n, c in choices.items()}  # type: ignore[arg-type]
    found = {name: answers_as(models, name) for name in models}
    assert found == {"open": None, "open+played": "open", "open+bare": None}


def test_format_with_another_probe_keeps_nothing_of_the_entrys_own() -> None:
    entry: Any = {"source": "org/open", "probe": "role_play", "roles": "quoted"}
    assert entry_in_format(entry, "swapped", {"probe": "role_play"}) == {
        "source": "org/open",
        "probe": "role_play",
    }
