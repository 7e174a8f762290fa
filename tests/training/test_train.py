"""A training that cannot go on says so in a sentence, and takes one GPU."""

import json
from pathlib import Path

import pytest
import torch

from benchmarks.trainings import measured
from tests.training.test_checkpoints import write_checkpoint
from userturn.errors import UserError
from userturn.training.train import checkpoint_named, first_of


def test_full_gpu_is_a_sentence_that_names_the_kept_checkpoint(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 4)
    said = "train m: the memory of the GPU is full .CUDA out of memory. Tried.*step 4 is kept"
    with pytest.raises(UserError, match=said), checkpoint_named("m", tmp_path):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nmore")


def test_other_errors_of_torch_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="shapes"), checkpoint_named("m", tmp_path):
        raise RuntimeError("shapes differ")


@pytest.mark.parametrize(
    ("gpus", "first"), [("2,3", "2"), ("0", "0"), ("", ""), ("GPU-a,GPU-b", "GPU-a")]
)
def test_of_several_gpus_the_first_trains(gpus: str, first: str) -> None:
    assert first_of(gpus) == first


def test_table_of_trainings_has_what_records_and_jobs_measured(tmp_path: Path) -> None:
    folder = tmp_path / "results/training/m"
    folder.mkdir(parents=True)
    change = {"kl_adapter": 0.0123, "kl_swept": 0.0121, "lost": 0.001}
    change |= {"loss_before": 3.0, "loss_after": 2.5}
    record = {"log": [{"step": 1}, {"step": 9}], "n_learnt": 108, "kept_change": change}
    (folder / "training.json").write_text(json.dumps(record))
    benchmark = tmp_path / "benchmarks/results/train/m.tsv"
    benchmark.parent.mkdir(parents=True)
    benchmark.write_text("s\tmax_rss\tcpu_time\n60\t2048\t99.6\n")
    assert [list(row.values()) for row in measured(tmp_path / "results")] == [
        ["m", "9", "108", "0.0123", "0.0121", "0.001", "3 to 2.5", "100", "2.0"]
    ]
