"""Downloads that do not fit on the disk are told before they begin."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest

from userturn.models import fetch
from userturn.models.fetch import bytes_to_download
from userturn.workflow.downloads import too_large

COMMIT = "a" * 40
GB = 10**9
SIZES = {"org/large": 600 * GB, "org/small": 2 * GB}


def ask(source: str, *, local_files_only: bool = False, dry_run: bool = False, **_: Any) -> Any:
    """Answer as the hub's client does: half of each model is in the cache already."""
    if local_files_only:
        raise FileNotFoundError(source)
    if source not in SIZES:
        raise ConnectionError(source)
    assert dry_run
    half = SIZES[source] // 2
    found = [SimpleNamespace(file_size=half, will_download=will) for will in (True, False)]
    return [*found, SimpleNamespace(file_size=None, will_download=True)]


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(huggingface_hub, "snapshot_download", ask)
    monkeypatch.setattr(fetch, "hub_answers", lambda: True)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))


def grid(**models: str) -> Any:
    entries = {name: {"source": source, "revision": COMMIT} for name, source in models.items()}
    return SimpleNamespace(entries=entries)


def free(monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=n_bytes))


def test_what_is_in_the_cache_counts_nothing_and_what_nobody_knows_is_unknown() -> None:
    assert bytes_to_download("org/large", COMMIT) == 300 * GB
    assert bytes_to_download("org/unknown", COMMIT) is None
    assert bytes_to_download("./models/mine", None) == 0


def test_sizes_are_summed_once_for_each_source_and_compared_with_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = grid(a="org/large", b="org/small", again="org/large", c="org/unknown")
    free(monkeypatch, 301 * GB)  # 300 + 1
    assert too_large(study, study.entries) is None
    free(monkeypatch, 301 * GB - 1)
    said = too_large(study, study.entries)
    assert said is not None
    assert said.startswith(
        "the models to be downloaded are 301.0 GB (org/large 300.0 GB, org/small 1.0 GB, "
    )
    assert "set HF_HOME to a folder on a larger one" in said


def test_models_that_are_served_or_trained_here_are_not_downloaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free(monkeypatch, 0)
    study = grid(a="org/large", b="org/large")
    study.entries["a"]["endpoint"] = "http://host/v1"
    study.entries["b"]["recipe"] = "sft"
    assert too_large(study, study.entries) is None
