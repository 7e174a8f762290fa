"""Model sources: folders, adapters and pinned revisions."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.judge_server import http, judge_server
from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError
from userturn.generation.describe_model import describe_model
from userturn.models.fetch import local_path, model_folder, pinned_revision, source_identity
from userturn.prompts.chat_template import TemplateError
from userturn.study.grid import Grid


def write_adapter(folder: Path, base: Path) -> Path:
    """Write a LoRA adapter that changes the base's attention by random numbers."""
    import torch
    from transformers import AutoModelForCausalLM

    peft = pytest.importorskip("peft", reason="peft is not installed; run `make setup`")
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_pretrained(base)
    settings = peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    peft.get_peft_model(model, settings).save_pretrained(folder)
    return folder


def test_adapter_is_merged_into_its_base_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    monkeypatch.setenv("USERTURN_CACHE", str(tmp_path / "cache"))
    base = write_tiny_model(tmp_path / "base")
    adapter = write_adapter(tmp_path / "adapter", base)
    folder = model_folder(str(adapter))
    assert model_folder(str(adapter)) == folder
    ids = torch.tensor([[5, 6, 7]])
    plain = AutoModelForCausalLM.from_pretrained(base)
    adapted = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), adapter)
    with torch.inference_mode():
        expected = adapted(ids).logits
        assert not torch.allclose(plain(ids).logits, expected, atol=1e-3)
        merged = AutoModelForCausalLM.from_pretrained(folder)
        assert torch.allclose(merged(ids).logits, expected, atol=1e-4)
    assert AutoTokenizer.from_pretrained(folder).chat_template


def test_adapter_is_identified_with_its_base(tmp_path: Path) -> None:
    adapter, base = tmp_path / "adapter", tmp_path / "base"
    for folder in (adapter, base):
        folder.mkdir()
    settings = {"base_model_name_or_path": str(base)}
    (adapter / "adapter_config.json").write_text(json.dumps(settings))
    (base / "config.json").write_text("{}")
    before = source_identity(str(adapter), None)
    (base / "config.json").write_text('{"other": 1}')
    assert source_identity(str(adapter), None) != before


def test_adapter_that_names_no_base_is_refused(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(UserError, match="names no base model, expected base_model_name_or_path"):
        model_folder(str(tmp_path))


def test_branch_that_was_resolved_once_stays_where_it_was(tmp_path: Path) -> None:
    pin = tmp_path / "pin.json"
    assert pinned_revision([pin], "org/model", "main") == "main"
    note = {"source": "org/model", "asked_for": "main", "revision": "c0ffee"}
    pin.write_text(json.dumps(note))
    assert pinned_revision([pin], "org/model", "main") == "c0ffee"
    assert pinned_revision([pin], "org/model", "v2") == "v2"
    assert pinned_revision([pin], "org/other", "main") == "main"


def grid(folder: Path, **line: Any) -> Grid:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    tiny = {"source": str(folder / "model"), "dtype": "float32", "max_model_len": 1024}
    config["models"] = {"tiny": tiny | line}
    config |= {
        "datasets": {},
        "run": {},
        "controls": {"human": [], "planted": 0},
        "likelihood": False,
        "answer": config["answer"] | {"max_tokens": 64},
    }
    return Grid(config, folder / "results")


def test_description_names_header_stops_hashes_and_proofs(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "model")
    made = grid(tmp_path)
    describe_model(made, "tiny", tmp_path / "tiny.json")
    description = json.loads((tmp_path / "tiny.json").read_text())
    assert description["user_header"] == "<|im_end|>\n<|im_start|>user\n"
    assert set(description["stop"]) == {"<|im_end|>", "<|im_start|>", "<|endoftext|>"}
    assert len(description["stop_token_ids"]) == 3
    assert {len(v) for k, v in description["identity"].items() if k.endswith("sha256")} == {64}
    assert description["trust_remote_code"] is False
    assert description["revision"] is None
    assert len(description["proofs"]) == 7


def test_chat_template_of_the_line_replaces_the_model_s_own(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "model")
    path = tmp_path / "own.jinja"
    path.write_text("{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}")
    with pytest.raises(TemplateError, match="nothing says that the user speaks"):
        describe_model(grid(tmp_path, chat_template=str(path)), "tiny", tmp_path / "tiny.json")
    assert not (tmp_path / "tiny.json").exists()


def test_edited_chat_template_is_another_model(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "model")
    path = tmp_path / "own.jinja"
    path.write_text("a")
    before = grid(tmp_path, chat_template=str(path)).model_fingerprint("tiny")
    path.write_text("b")
    assert grid(tmp_path, chat_template=str(path)).model_fingerprint("tiny") != before


def test_line_s_answer_settings_replace_the_study_s_for_that_model(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "model")
    settings = grid(tmp_path, answer={"max_tokens": 7}).answer_settings("tiny")
    assert settings == {
        "temperature": 0,
        "top_p": 1.0,
        "top_k": 0,
        "presence_penalty": 0,
        "max_tokens": 7,
    }


def test_commit_in_the_cache_is_taken_without_asking_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0123456789" * 4
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    calls: list[str] = []
    monkeypatch.setattr(
        "huggingface_hub.HfApi.list_repo_tree", lambda *a, **k: calls.append("asked") or []
    )
    folder = tmp_path / "models--org--name" / "snapshots" / commit
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    # A served model fetched its tokenizer alone; one that is loaded here needs its weights, too.
    assert model_folder("org/name", commit, with_weights=False) == folder
    assert calls == []
    (folder / "model.safetensors").write_text("")
    assert model_folder("org/name", commit) == folder
    assert calls == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (http(403, b"", "X-Error-Code: GatedRepo"), "is gated: accept its terms"),
        (
            http(404, b"", "X-Error-Code: RevisionNotFound"),
            "is not on the hub; correct its revision",
        ),
        (
            http(200, b"<html>log in to this network</html>"),
            "could not be read from the hub .JSONDecodeError",
        ),
    ],
)
def test_model_that_the_hub_does_not_give_is_told_in_a_sentence(
    response: bytes, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with judge_server(lambda _: response) as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url.removesuffix("/v1"))
        with pytest.raises(UserError, match=f"model 'org/name' at revision 'main' {reason}"):
            model_folder("org/name")
    assert hub.asked


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("C:\\models\\mine", "is neither a path nor a hub id"),
        ("D:/models/mine", "is neither a path nor a hub id"),
        ("https://huggingface.co/org/name", "is neither a path nor a hub id"),
        ("org/name/more", "is neither a path nor a hub id"),
        ("a model", "is neither a path nor a hub id"),
        ("./nowhere", "does not exist"),
        ("./fake.gguf", "is not a GGUF file"),
    ],
)
def test_source_that_cannot_be_one_is_refused_in_a_sentence(
    source: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fake.gguf").write_text("<html>")
    with pytest.raises(UserError) as refused:
        source_identity(source, None)
    assert str(refused.value).startswith(f"model source '{source}' {said}; expected a hub id")


def test_cut_gguf_file_is_refused_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USERTURN_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "cut.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00\x05\x00")
    with pytest.raises(UserError, match="a file is damaged or not of that kind"):
        model_folder(str(path))
    assert list((tmp_path / "cache" / "gguf").iterdir()) == []


def test_adapter_that_names_itself_as_its_base_is_refused(tmp_path: Path) -> None:
    settings = {"base_model_name_or_path": str(tmp_path)}
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
    with pytest.raises(UserError, match="names its own folder as the base model"):
        source_identity(str(tmp_path), None)


def test_pin_that_was_damaged_is_named(tmp_path: Path) -> None:
    pin = tmp_path / "mine.json"
    pin.write_text('{"revision": ')
    with pytest.raises(UserError, match=r"mine.json' is not JSON"):
        pinned_revision([pin], "org/mine", "main")


@pytest.mark.parametrize("name", ["/etc", "../../x", "a/../../../x"])
def test_a_source_in_a_package_leads_nowhere_else(name: str) -> None:
    with pytest.raises(UserError, match="is not installed"):
        local_path(f"package:pytest/{name}")


def test_downloads_that_cannot_be_written_are_told_with_where_to_put_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub's client says that the hub could not be reached, or what stands in the way."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("HF_HOME", str(tmp_path / "file" / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "file" / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="which cannot be written: Not a directory; set HF_HOME to"):
        model_folder("org/name")
