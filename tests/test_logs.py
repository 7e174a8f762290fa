"""Progress is one line: how much is done, how fast, and how long the rest takes."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from userturn import logs
from userturn.errors import sentence, stays
from userturn.logs import Progress


@pytest.mark.parametrize(("n_tokens", "speed"), [(30, "15 tokens/s, "), (0, "")])
def test_requests_without_tokens_have_no_speed_in_tokens(n_tokens: int, speed: str) -> None:
    progress = Progress("a stage", 4, first=3600)
    progress.add(n_tokens)
    # 30 tokens in 2 s are 15 a second; one of four requests took 2 s, so three take 6.
    assert progress.line(2.0) == f"a stage: 1/4 requests, {speed}6 s left"


def test_progress_is_said_ever_more_rarely_and_at_least_every_five_minutes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 100_000))
    monkeypatch.setattr(logs, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    progress = Progress("turns", 2_000)
    for _ in range(1_500):  # one in a second
        progress.add(1)
    said = [int(line.split()[1].split("/")[0]) for line in capsys.readouterr().out.splitlines()]
    # Due after 10 s, then after as long as it took until then, 300 s at most.
    assert said == [10, 20, 40, 80, 160, 320, 620, 920, 1220]


def test_a_file_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    file.touch()
    for make in (file.mkdir, lambda: (file / "m").mkdir()):
        with pytest.raises(OSError) as error:
            make()
        said = sentence(error.value)
        assert said is not None and "journal" in said and "is in the way" in said


@pytest.mark.parametrize(
    ("number", "said", "is_lasting"),
    [
        (errno.EROFS, "'study/x' is on a file system that is mounted for reading only", True),
        (errno.EACCES, "'study/x' may not be read or written by you", True),
        (errno.EMFILE, "too many files are open", False),
    ],
)
def test_what_keeps_a_file_from_being_written_is_one_sentence(
    number: int, said: str, is_lasting: bool
) -> None:
    error = OSError(number, os.strerror(number), "study/x")
    assert str(sentence(error)).startswith(said)
    assert stays(error) == is_lasting


def test_a_damaged_parquet_file_is_one_sentence(tmp_path: Path) -> None:
    for content in (b"", b"PAR1 and no end"):
        (tmp_path / "rates.parquet").write_bytes(content)
        with pytest.raises(Exception) as error:
            pl.read_parquet(tmp_path / "rates.parquet")
        assert "a Parquet file is damaged" in str(sentence(error.value))


def test_a_file_that_polars_may_not_read_is_named() -> None:
    said = sentence(PermissionError("Permission denied (os error 13): results/a.parquet"))
    assert said is not None and said.startswith("'results/a.parquet' may not be read")
