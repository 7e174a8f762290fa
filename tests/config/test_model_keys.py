"""vLLM's settings of one model: over the study's, and identifying if they change tokens."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.config.check import check
from userturn.config.keys import VllmSettings
from userturn.config.model_keys import CHANGE_TOKENS, identifying_vllm
from userturn.config.schema import object_schema
from userturn.errors import ConfigError
from userturn.models.engine_setup import engine_settings
from userturn.study.grid import Grid
from userturn.study.model_description import request_identity


def study(**entry: Any) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["models"] = {"mine": {"source": "org/mine", **entry}}
    return config | {"run": {"models": ["mine"]}}


def grid(results: Path, **entry: Any) -> Grid:
    return Grid(study(**entry), results)


def test_settings_of_a_model_are_over_those_of_the_study(tmp_path: Path) -> None:
    config = grid(tmp_path, vllm={"max_num_seqs": 128})
    settings = engine_settings(config.config, config.models["mine"])
    assert settings["max_num_seqs"] == 128
    assert settings["gpu_memory_utilization"] == 0.9  # the study's
    assert settings["dtype"] == "bfloat16"  # the entry's own


@pytest.mark.parametrize(
    ("vllm", "is_identity"),
    [
        ({"max_num_seqs": 128, "enforce_eager": True}, False),
        ({"kv_cache_dtype": "auto"}, False),
        ({"kv_cache_dtype": "fp8"}, True),
        ({"quantization": "fp8", "max_num_seqs": 128}, True),
    ],
)
def test_only_settings_that_change_tokens_make_other_requests_and_cells(
    vllm: dict[str, Any], is_identity: bool, tmp_path: Path
) -> None:
    plain, own = grid(tmp_path), grid(tmp_path, vllm=vllm)
    identities = [request_identity(one, "mine", {"identity": {}}) for one in (plain, own)]
    assert (identities[0] != identities[1]) == is_identity
    assert "vllm" not in identities[0]  # the keys of earlier studies stay
    assert (plain.model_fingerprint("mine") != own.model_fingerprint("mine")) == is_identity


def test_every_setting_of_the_schema_is_known_to_change_tokens_or_not_to() -> None:
    """A new key must be put in one of the two lists by whoever adds it."""
    properties = object_schema(VllmSettings)["properties"]
    changing = {name for name, one in properties.items() if "changes tokens" in one["description"]}
    assert changing == set(CHANGE_TOKENS)
    assert identifying_vllm({"vllm": dict.fromkeys(properties, 1)}).keys() == {"vllm"}


@pytest.mark.parametrize(
    "vllm", [{"trust_remote_code": True}, {"max_num_seqs": 0}, {"quantization": "mine.py"}]
)
def test_setting_beyond_the_closed_list_is_refused(
    vllm: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigError, match=r"models\.mine\.vllm"):
        check(study(vllm=vllm))
