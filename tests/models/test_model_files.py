"""What of a model folder counts: what an engine or a tokenizer reads, by its values."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from userturn.errors import UserError
from userturn.models.fetch import source_identity
from userturn.models.model_files import (
    changed_weights,
    check_weights_unchanged,
    differing,
    files_of_folder,
    harmless_changes,
    normalised_file_hash,
    normalised_folder_hash,
    weights_sha256,
)
from userturn.storage.hashing import WHOLE_FILE_LIMIT, file_sha256

TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
TOKENIZER = {"added_tokens": [{"id": 3}], "model": {"vocab": {"a": 0}, "merges": [["a", "b"]]}}
CONFIG = {"eos_token_id": 2, "rope_theta": 10000.0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    for name, content in {
        "config.json": CONFIG,
        "tokenizer.json": TOKENIZER,
        "tokenizer_config.json": {"chat_template": TEMPLATE},
        "generation_config.json": {"eos_token_id": [1, 2]},
    }.items():
        (tmp_path / name).write_text(json.dumps(content))
    return tmp_path


def edited(name: str, change: Callable[[Any], object]) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        change(content)
        (folder / name).write_text(json.dumps(content))

    return edit


def added(name: str, text: str = "x") -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def turned(folder: Path) -> None:
    for path in folder.glob("*.json"):
        backwards = dict(reversed(json.loads(path.read_text()).items()))
        path.write_text(json.dumps(backwards, indent=3, ensure_ascii=False))


IN_FORM = {
    "a README": added("README.md"),
    "notes": added("notes.txt"),
    "results of another program": added("eval_results.json", "{}"),
    "JSON with other spaces and order": turned,
    "a remark in the template": added("chat_template.jinja", "{# a remark #}\n" + TEMPLATE),
    "a remark in the config's template": edited(
        "tokenizer_config.json", lambda c: c.update(chat_template="{# a #}" + TEMPLATE)
    ),
}
IN_CONTENT = {
    "a byte of the weights": added("model.safetensors"),
    "a merge": edited("tokenizer.json", lambda c: c["model"].update(merges=[["b", "a"]])),
    "an added token": edited("tokenizer.json", lambda c: c["added_tokens"].append({"id": 4})),
    "the order of added tokens": edited("tokenizer.json", lambda c: c.update(added_tokens=[{}])),
    "a character of the template": added("chat_template.jinja", TEMPLATE + "."),
    "the base of RoPE": edited("config.json", lambda c: c.update(rope_theta=10000.5)),
    "a whole number for another": edited("config.json", lambda c: c.update(rope_theta=10000)),
    "the end of sequence": edited("generation_config.json", lambda c: c.update(eos_token_id=1)),
    "a vocabulary": added("vocab.txt"),
    "a key that stands twice": added("config.json", '{"a": 1, "a": 2}'),
    "code": added("modeling.py"),
}


@pytest.mark.parametrize("change", IN_FORM.values(), ids=IN_FORM)
def test_a_change_in_form_leaves_a_folder_what_it_is_and_is_named(
    folder: Path, change: Callable[[Path], object]
) -> None:
    form, then = normalised_folder_hash(folder), files_of_folder(str(folder))
    change(folder)
    assert normalised_folder_hash(folder) == form
    now = files_of_folder(str(folder))
    assert list(harmless_changes(then, now))
    assert not list(differing(then, now))


@pytest.mark.parametrize("change", IN_CONTENT.values(), ids=IN_CONTENT)
def test_a_change_in_content_makes_another_folder(
    folder: Path, change: Callable[[Path], object]
) -> None:
    form, then = normalised_folder_hash(folder), files_of_folder(str(folder))
    change(folder)
    assert normalised_folder_hash(folder) != form
    assert list(differing(then, files_of_folder(str(folder))))


def test_a_hidden_file_is_none_of_a_models_even_beside_code(folder: Path) -> None:
    added("modeling.py")(folder)
    then = files_of_folder(str(folder))
    added(".snakemake_timestamp")(folder)
    assert files_of_folder(str(folder)) == then


def test_with_code_in_the_folder_every_file_counts(folder: Path) -> None:
    added("modeling.py")(folder)
    form = normalised_folder_hash(folder)
    added("README.md")(folder)
    assert normalised_folder_hash(folder) != form


def test_json_that_python_and_others_read_differently_counts_by_its_bytes(tmp_path: Path) -> None:
    path, forms = tmp_path / "config.json", set()
    for text in ('{"a": 1, "a": 2}', '{"a": 2}', '{"a": NaN}', '{"a":  NaN}', "{", "{ "):
        path.write_text(text)
        forms.add(normalised_file_hash(path))
    assert len(forms) == 6


def test_a_hub_model_has_no_files_of_its_own() -> None:
    assert files_of_folder("org/model") == {}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model's folder: a file just over 64 MiB, full of zeros, and a small one."""
    monkeypatch.setenv("USERTURN_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "model"
    folder.mkdir()
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(WHOLE_FILE_LIMIT + 1)
    (folder / "config.json").write_text("{}")
    return folder


def train_further(model: Path) -> None:
    with (model / "model.safetensors").open("r+b") as file:
        file.seek(WHOLE_FILE_LIMIT // 2)
        file.write(b"trained")


def test_only_large_local_files_need_a_whole_hash(model: Path) -> None:
    path = model / "model.safetensors"
    assert weights_sha256(str(model)) == {path.name: file_sha256(path)}
    assert weights_sha256(str(path)) == {path.name: file_sha256(path)}
    assert weights_sha256("org/name") == {}


def test_a_model_trained_further_keeps_its_identity_and_is_refused(model: Path) -> None:
    described, identity = weights_sha256(str(model)), source_identity(str(model), None)
    check_weights_unchanged("mine", str(model), described)
    train_further(model)
    assert source_identity(str(model), None) == identity
    assert changed_weights(str(model), described) is not None
    with pytest.raises(UserError, match="was changed after it was described"):
        check_weights_unchanged("mine", str(model), described)


def test_a_file_that_is_gone_differs(model: Path) -> None:
    described = weights_sha256(str(model))
    (model / "model.safetensors").unlink()
    expected, found = changed_weights(str(model), described) or ("", "")
    assert expected.startswith("model.safetensors ") and found == "model.safetensors none"


def test_a_model_described_without_whole_hashes_is_not_refused(model: Path) -> None:
    check_weights_unchanged("mine", str(model), {})


def test_a_hash_is_taken_from_the_cache_while_size_time_and_inode_are_the_same(
    model: Path, tmp_path: Path
) -> None:
    weights_sha256(str(model))
    (kept,) = (tmp_path / "cache" / "sha256").iterdir()
    kept.write_text("known")
    assert weights_sha256(str(model)) == {"model.safetensors": "known"}
