"""What was trained is what is swept: its divergence from the base, and what a number type loses."""

from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError
from userturn.models.convert import check_converted, expectations, merge_adapter
from userturn.training.kept_change import MOST_LOST, kept_change

ROWS = [[(begin + 7 * i) % 250 for i in range(40)] for begin in range(32)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose weights are numbers of bfloat16, as small as those of real ones."""
    plain = write_tiny_model(tmp_path_factory.mktemp("models") / "plain", width=64)
    model = AutoModelForCausalLM.from_pretrained(plain)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2 and "embed" not in name:
                weight.mul_(0.02 / 0.4)
    folder = plain.with_name("base")
    model.to(torch.bfloat16).save_pretrained(folder)
    AutoTokenizer.from_pretrained(plain).save_pretrained(folder)
    return folder


def adapter(base: Path, folder: Path, path_length: float) -> Path:
    """Write an adapter as Adam leaves it: each number of B has gone that way, up or down."""
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_pretrained(base)
    model = get_peft_model(model, LoraConfig(r=32, lora_alpha=16, target_modules="all-linear"))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.copy_(torch.randn_like(weight).sign() * path_length)
    model.save_pretrained(folder)
    return folder


def kept(base: Path, folder: Path, rate: float, dtype: str) -> dict[str, Any]:
    """Merge what 90 steps of a learning rate leave, and return what a number type has of it."""
    tuned = adapter(base, folder / "adapter", 90 * rate)
    merge_adapter(tuned, base, folder / "merged")
    return kept_change(base, tuned, folder / "merged", {"dtype": dtype}, ROWS)


@pytest.mark.parametrize("rate", [1e-5, 1e-6])
def test_in_float32_what_is_swept_has_the_trained_change(
    base: Path, rate: float, tmp_path: Path
) -> None:
    found = kept(base, tmp_path, rate, "float32")
    assert found["n_rows"] == 32
    assert found["lost"] < MOST_LOST
    assert found["kl_swept"] == pytest.approx(found["kl_adapter"], rel=0.1)


def test_in_bfloat16_most_of_a_small_change_is_rounded_away(base: Path, tmp_path: Path) -> None:
    assert kept(base, tmp_path, 1e-5, "bfloat16")["lost"] > 10 * MOST_LOST


def test_divergence_is_that_of_the_definition(base: Path, tmp_path: Path) -> None:
    found = kept(base, tmp_path, 1e-2, "float32")
    before, after = (
        AutoModelForCausalLM.from_pretrained(folder, dtype="float32").double()
        for folder in (base, tmp_path / "merged")
    )
    with torch.inference_mode():
        p, q = (
            torch.cat([model(torch.tensor([ids])).logits[0, :-1] for ids in ROWS]).log_softmax(-1)
            for model in (after, before)
        )
    by_torch = torch.nn.functional.kl_div(q, p, reduction="batchmean", log_target=True).item()
    assert found["kl_swept"] == pytest.approx(by_torch, rel=1e-3)
    assert by_torch > 1e-3


def test_loss_of_rows_that_were_not_learnt_is_that_of_their_learnt_tokens(
    base: Path, tmp_path: Path
) -> None:
    tuned = adapter(base, tmp_path / "adapter", 1e-2)
    merge_adapter(tuned, base, tmp_path / "merged")
    row = {"input_ids": ROWS[0], "labels": [-100] * 30 + ROWS[0][30:]}
    found = kept_change(base, tuned, tmp_path / "merged", {"dtype": "float32"}, ROWS, [row])
    for name, folder in (("loss_before", base), ("loss_after", tmp_path / "merged")):
        model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
        with torch.inference_mode():
            # transformers' own loss leaves out labels of -100 and shifts by one
            loss = model(**{key: torch.tensor([ids]) for key, ids in row.items()}).loss.item()
        assert found[name] == pytest.approx(loss, rel=1e-4)


def test_folder_of_another_model_is_not_taken_for_a_conversion(base: Path, tmp_path: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(base, dtype="float32")
    check_converted(base, expectations(model))
    other = write_tiny_model(tmp_path / "other", seed=1, width=64)
    with pytest.raises(UserError, match="differs from its original"):
        check_converted(other, expectations(model))
