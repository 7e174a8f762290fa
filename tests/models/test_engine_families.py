"""Each family through the real code path: describe, answer, probe, stop, special tokens kept."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from tests.support.tiny_families import write_family
from tests.support.torchvision_beside import write_torchvision
from userturn.prompts.load_template import load_template

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
# Random weights write one of three to six stop tokens in 350 to 500 once in 100 tokens or so.
N_ENOUGH_TO_STOP = 20  # user turns of 48 tokens
ENTRY = {"enable_thinking": False}
QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_LOGGING_LEVEL": "ERROR"}


class Run(NamedTuple):
    """How a family is run here, and what its probe prompts end in, by its vendor's format."""

    family: str
    engine: str
    dtype: str
    user_header: str
    end: str


# Qwen3.5's linear attention runs in bfloat16 only on a processor; its dense size goes through
# transformers, which is slow at it, so that both engines see the family.
RUNS = {
    "qwen3.5-moe": Run("qwen3.5-moe", "vllm", "bfloat16", "", "<|im_end|>\n<|im_start|>user\n"),
    "qwen3.5": Run("qwen3.5", "transformers", "float32", "", "<|im_end|>\n<|im_start|>user\n"),
    "gpt-oss": Run("gpt-oss", "vllm", "float32", "<|start|>user", "<|end|><|start|>user"),
    "glm": Run("glm", "vllm", "float32", "", "<|user|>"),
}


class Swept(NamedTuple):
    """A finished sweep of one tiny model."""

    run: Run
    model: Path
    results: Path

    def table(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.results / f"{name}.parquet")

    @property
    def description(self) -> dict[str, list[int]]:
        text = (self.results / "models" / "tiny.json").read_text()
        return dict(json.loads(text))


IN_THE_GATE = ("qwen3.5", "gpt-oss")  # one for each engine


def marked(name: str) -> Any:
    marks = [] if name in IN_THE_GATE else [pytest.mark.long]
    return pytest.param(RUNS[name], id=name, marks=marks)


@pytest.fixture(scope="module", params=[*map(marked, RUNS)])
def swept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Swept:
    """Sweep one family in a process of its own."""
    run: Run = request.param
    if run.engine == "vllm" and importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM is not installed; it has no build for this machine")
    folder = tmp_path_factory.mktemp(run.family)
    model = write_family(run.family, folder / "model")
    path = [str(ROOT / "src"), str(ROOT)]
    if "Conditional" in (model / "config.json").read_text():
        path.append(str(write_torchvision(folder / "torchvision")))
    limit = "12" if run.engine == "vllm" else "6"
    command = [
        sys.executable,
        "-m",
        "tests.support.sweep_once",
        str(model),
        str(folder / "results"),
    ]
    done = subprocess.run(
        [*command, run.engine, run.dtype, limit, run.user_header],
        cwd=ROOT,
        env=os.environ | QUIET | {"PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Swept(run, model, folder / "results")


def written(swept: Swept, name: str) -> pl.DataFrame:
    """Return the user turns that were written: random weights put control tokens into answers."""
    return swept.table(name).filter(pl.col("outcome") != "error")


def test_only_an_answer_with_control_tokens_of_its_own_is_an_error(swept: Swept) -> None:
    answers = swept.table("answers")
    wrong = answers.filter(pl.col("outcome") == "error")
    assert all("template does not write" in error for error in wrong["error"])
    assert wrong.height < answers.height
    turns = swept.table("none")
    assert set(turns.filter(pl.col("outcome") == "error")["item"]) == set(wrong["item"])


def test_every_probe_prompt_ends_in_the_family_s_user_header(swept: Swept) -> None:
    assert all(text.endswith(swept.run.end) for text in written(swept, "none")["prompt_text"])


def test_turn_that_stopped_ends_in_a_stop_token_and_holds_no_other(swept: Swept) -> None:
    stops = set(swept.description["stop_token_ids"])
    turns = written(swept, "none").vstack(written(swept, "shuffled_answer"))
    for ids, reason in turns.select("token_ids", "finish_reason").iter_rows():
        assert (ids[-1] in stops) == (reason == "stop")
        assert not stops & set(ids[:-1])
    assert "stop" in set(turns["finish_reason"]) or turns.height < N_ENOUGH_TO_STOP


def test_special_tokens_are_kept_in_text_and_ids(swept: Swept) -> None:
    template = load_template(swept.model, ENTRY, "2026-04-02")
    stops = set(template.stop_token_ids)
    special = {i for t, i in template.control_tokens.items() if i not in stops}
    turns = written(swept, "none").vstack(written(swept, "shuffled_answer"))
    n_kept = 0
    for ids, text in turns.select("token_ids", "text").iter_rows():
        said = ids[:-1] if ids[-1] in stops else ids
        assert text == template.decode(said)
        kept = template.tokenizer.convert_ids_to_tokens([i for i in said if i in special])
        assert all(token in text for token in kept)
        n_kept += len(kept)
    assert n_kept > 0 or turns.height < N_ENOUGH_TO_STOP


def test_shuffled_answer_is_another_item_s_own(swept: Swept) -> None:
    answers = dict(swept.table("answers").select("item", "answer").iter_rows())
    for item, shown, change in (
        written(swept, "shuffled_answer").select("item", "answer", "change").iter_rows()
    ):
        donor = json.loads(change)["donor"]
        assert donor != item
        assert shown == answers[donor]
