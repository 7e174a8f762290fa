"""A model that somebody else serves: what its entry may not say is told in one sentence."""

from pathlib import Path
from typing import Any

import pytest

from userturn.config.endpoint_models import check_endpoint_models
from userturn.config.trained_models import complete_entries
from userturn.errors import ConfigError

SERVED = {"source": "org/mine", "endpoint": "http://host:8000/v1"}


@pytest.fixture
def study(config: dict[str, Any]) -> dict[str, Any]:
    return config | {"run": {"models": ["mine"]}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"endpoint": "https://me:secret@host/v1"}, "models.mine.endpoint: contains a user name"),
        ({"endpoint": "http://host/v1?key=7"}, "models.mine.endpoint: contains a query"),
        ({"endpoint": "http://host/v1/chat/completions"}, "models.mine.endpoint: found 'http"),
        ({"key_variable": "sk-abc123"}, "models.mine.key_variable: expected the NAME"),
        ({"gpus": 2}, "models.mine: found `gpus` beside `endpoint`"),
        ({"dtype": "float32"}, "models.mine: found `dtype` beside `endpoint`"),
        ({"vllm": {"max_num_seqs": 1}}, "models.mine: found `vllm` beside `endpoint`"),
        ({"recipe": "sft-collab"}, "models.mine: found `recipe` beside `endpoint`"),
        (
            {"endpoint": "http://$HOST/v1"},
            "models.mine.endpoint: found 'http://$HOST/v1'; expected",
        ),
        (
            {"endpoint": "http://host/v1 "},
            "models.mine.endpoint: found 'http://host/v1 '; expected",
        ),
        ({"endpoint": "http://host:port/v1"}, "models.mine.endpoint: found 'http://host:port/v1'"),
        ({"endpoint": "http://host:65536"}, "models.mine.endpoint: found 'http://host:65536'"),
        ({"endpoint": "http://host/v1#x"}, "models.mine.endpoint: found 'http://host/v1#x'"),
        ({"endpoint": None, "served_as": "x"}, "models.mine: found `served_as` without `endpoint`"),
        ({"endpoint": None, "price": {}}, "models.mine: found `price` without `endpoint`"),
    ],
)
def test_entry_that_cannot_be_asked_is_refused(
    study: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    entry = {key: value for key, value in (SERVED | changes).items() if value is not None}
    study["models"]["mine"] = entry
    with pytest.raises(ConfigError) as error:
        check_endpoint_models(study)
    assert str(error.value).startswith(said) and "secret" not in str(error.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "https://[::1]:8/v1", "https://a-b.c"])
def test_address_with_a_host_a_port_and_a_path_is_taken(study: dict[str, Any], url: str) -> None:
    study["models"]["mine"] = SERVED | {"endpoint": url}
    check_endpoint_models(study)


def test_a_study_with_a_served_model_cannot_claim_exact_reruns(study: dict[str, Any]) -> None:
    study["models"]["mine"], study["determinism"] = SERVED, "exact"
    with pytest.raises(ConfigError, match="determinism: found 'exact', which no server promises"):
        check_endpoint_models(study)
    study["run"]["models"] = ["glm-4.7"]
    check_endpoint_models(study)


def test_an_adapter_s_folder_is_no_source_of_a_served_model(
    study: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    study["models"]["mine"] = SERVED | {"source": str(tmp_path)}
    with pytest.raises(ConfigError, match="is an adapter"):
        check_endpoint_models(study)


def test_nothing_is_trained_from_a_served_model(study: dict[str, Any]) -> None:
    study["models"] |= {"mine": SERVED, "child": {"base": "mine", "recipe": "sft-collab"}}
    with pytest.raises(ConfigError, match=r"models\.child\.base: 'mine' has an `endpoint`"):
        check_endpoint_models(study)


def test_a_served_model_asks_for_no_gpu_and_may_be_asked_by_several_jobs(
    study: dict[str, Any],
) -> None:
    study["models"]["mine"] = SERVED | {"shards": 3}
    entry = complete_entries(study, "results")["mine"]
    assert (entry["gpus"], entry["shards"], entry["attempts"]) == (0, 3, 8)
