"""Secrets are found by form or value, in every kind of file, and never shown."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from userturn.export.secrets import Secret, find_secrets, key_values

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
# Made up here, so that no file of the project holds one.
MADE_UP = {
    "API key": "sk-" + "proj-" + LETTERS[:40] + "7",
    "Hugging Face token": "hf_" + LETTERS[:34],
    "GitHub token": "ghp_" + LETTERS[:36],
    "AWS key": "AKIA" + LETTERS[26:42].upper(),
    "Google key": "AIza" + LETTERS[:35],
    "Perplexity key": "pplx-" + LETTERS[:48],
    "NVIDIA key": "nvapi-" + (LETTERS + LETTERS)[:64],
    "Fireworks key": "fw_" + LETTERS[:24],
    "Cerebras key": "csk-" + (LETTERS[:26] * 2)[:48],
    "Databricks token": "dapi" + "0123456789abcdef" * 2,
    "W&B key": "wandb_v1_" + (LETTERS + LETTERS)[:70],
    "JSON web token": "eyJ" + LETTERS[:20] + ".eyJ" + LETTERS[:30] + "." + LETTERS[:43],
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "bearer token": "Authorization: Bearer " + LETTERS[-40:],
    "password in an address": "https://me:" + "correct-horse@example.org/v1",
}


@pytest.mark.parametrize("kind", MADE_UP)
def test_each_form_is_found_with_its_line_and_kind(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(f"first line\nhere: {MADE_UP[kind]} and more\n")
    assert find_secrets(path) == [Secret(path, "line 2", kind)]


@pytest.mark.parametrize(
    "name",
    [
        *("TOGETHER_API_KEY", "MISTRAL_API_KEY", "CO_API_KEY", "WANDB_API_KEY"),
        *("AZURE_OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "cohere_api_key"),
    ],
)
def test_a_key_without_a_form_of_its_own_is_found_by_its_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_text(f'{name}="{LETTERS[:40]}"\n{name} is not set\n')
    assert find_secrets(path) == [Secret(path, "line 1", "named key")]


def test_secrets_inside_of_compressed_parquet_columns_are_found(tmp_path: Path) -> None:
    path, key = tmp_path / "turns.parquet", MADE_UP["API key"]
    messages = [[{"role": "user", "content": "hello"}]] * 2
    asked = [*messages, [*messages[0], {"role": "user", "content": f"use {key}"}]]
    table = pl.DataFrame({"item": ["a", "b", "c"], "messages": asked, "n": [1, 2, 3]})
    table.write_parquet(path, compression="gzip", statistics=False)
    assert key.encode() not in path.read_bytes()
    assert find_secrets(path) == [Secret(path, "column messages, row 3", "API key")]


def test_secrets_in_parquet_metadata_and_in_gzip_are_found(tmp_path: Path) -> None:
    key = MADE_UP["Hugging Face token"]
    pl.DataFrame({"n": [1]}).write_parquet(tmp_path / "a.parquet", metadata={"identity": key})
    with gzip.open(tmp_path / "b.jsonl.gz", "wt") as file:
        file.write(f'{{"token": "{key}"}}\n')
    found = [*find_secrets(tmp_path / "a.parquet"), *find_secrets(tmp_path / "b.jsonl.gz")]
    assert {secret.path.name for secret in found} == {"a.parquet", "b.jsonl.gz"}


def test_known_value_is_found_whatever_its_form_and_also_as_in_an_address(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("a\npass/word+long\nb pass%2Fword%2Blong\n")
    found = find_secrets(path, {"MY_KEY": "pass/word+long"})
    assert found == [Secret(path, f"line {n}", "value of MY_KEY") for n in (2, 3)]


def test_what_is_found_never_shows_the_secret(tmp_path: Path) -> None:
    path = tmp_path / "all.txt"
    path.write_text("\n".join(MADE_UP.values()))
    shown = repr(find_secrets(path, {"V": MADE_UP["API key"]}))
    assert not [kind for kind, secret in MADE_UP.items() if secret[-12:] in shown]


def test_words_hashes_and_code_are_no_secrets(tmp_path: Path) -> None:
    path = tmp_path / "text.md"
    path.write_text(
        "a task-force-that-goes-on-and-on-and-on, sk-learn-is-a-library-for-machine-learning\n"
        + "0123456789abcdef" * 4
        + "\nBearer of bad news; https://example.org:8000/v1; AKIA; user@example.org; key: [key]\n"
        + "-----BEGIN PUBLIC KEY-----\n"
    )
    assert find_secrets(path) == []


def test_values_of_the_variables_that_judges_and_served_models_name_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KEY_A", " a-value-of-some-length ")
    monkeypatch.setenv("KEY_B", "short")
    monkeypatch.delenv("KEY_C", raising=False)
    judges = {name: {"key_variable": f"KEY_{name}"} for name in "ABC"} | {"words": {}}
    assert key_values({"judges": judges}) == {"KEY_A": "a-value-of-some-length"}
    served = {"judges": {}, "models": {"m": {"key_variable": "KEY_A"}, "n": "org/name"}}
    assert key_values(served) == {"KEY_A": "a-value-of-some-length"}
