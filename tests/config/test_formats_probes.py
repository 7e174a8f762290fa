"""How user turns are asked for: what an entry may not say of it is told in one sentence."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.config.endpoint_models import check_endpoint_models
from userturn.config.formats import STAND_IN, answers_as, check_formats, entry_in_format
from userturn.config.trained_models import complete_entries
from userturn.errors import ConfigError

CHAT = {"source": "gpt-x", "endpoint": "http://host:8000/v1", "api": "chat"}


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(ROOT)
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    loaded["models"] = {"open": "org/open", "closed": CHAT}
    return loaded | {"run": {}}


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
    config: dict[str, Any], entry: dict[str, Any], said: str
) -> None:
    config["formats"] = {"played": entry}
    with pytest.raises(ConfigError) as error:
        check_formats(config)
    assert str(error.value).startswith(said)


def test_instruction_without_text_is_refused(config: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" \n")
    config["formats"] = {
        "played": {"probe": "role_play", "instruction": str(tmp_path / "empty.txt")}
    }
    with pytest.raises(ConfigError, match="is empty; expected a file with what the model is told"):
        check_formats(config)


@pytest.mark.parametrize(
    "key", ["user_header", "header", "stop", "chat_template", "enable_thinking", "max_model_len"]
)
def test_what_only_a_chat_server_knows_is_refused_by_name(config: dict[str, Any], key: str) -> None:
    config["models"]["closed"] = {**CHAT, key: "x"}
    with pytest.raises(ConfigError, match=f"models.closed: found `{key}` beside `api: chat`"):
        check_endpoint_models(config)


def test_chat_api_without_an_address_is_refused(config: dict[str, Any]) -> None:
    config["models"]["closed"] = {"source": "gpt-x", "api": "chat"}
    with pytest.raises(ConfigError, match=r"models.closed: found `api` without `endpoint`"):
        check_endpoint_models(config)


def test_model_behind_a_chat_api_plays_the_user_under_its_own_name(config: dict[str, Any]) -> None:
    entry = complete_entries(config, "results")["closed"]
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
