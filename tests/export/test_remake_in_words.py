"""What a remake says of the files that it made and left out, and of a folder that takes none."""

import errno
import os
from pathlib import Path

import pytest

from userturn.errors import NoRoomError
from userturn.export.remake import NAMED, Outcome, format_outcome, there_is_room
from userturn.workflow.study_files import FAULTS


def test_files_left_out_for_one_reason_share_a_line() -> None:
    cells = {f"results/report/data/cell-{i}.js": "rows of a" for i in range(NAMED + 2)}
    tables = {f"results/tables/costs.{ending}": "no journals" for ending in ("csv", "parquet")}
    outcome = Outcome(["results/tables/x.csv"], {"results/figures/y.svg": "why"}, cells | tables)
    said = format_outcome(outcome, Path("made")).splitlines()
    assert said[0].endswith("1 equal byte for byte, 1 unequal, 34 left out")
    assert said[1] == "unequal: results/figures/y.svg: why"
    assert said[2].startswith("left out: 32 files (results/report/data/cell-0, ")
    assert said[2].endswith("cell-29 and 2 more): rows of a")
    assert said[3:] == ["left out: 2 files (results/tables/costs): no journals"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_folder_that_takes_no_file_is_told_and_no_fault_of_a_study(number: int) -> None:
    error = OSError(number, os.strerror(number), "/here/results/tables/rates.parquet")
    said = "nothing can be made in '/here'"
    with pytest.raises(NoRoomError, match=said) as told, there_is_room(Path("/here")):
        raise error
    assert not isinstance(told.value, FAULTS)


def test_a_file_of_the_study_that_may_not_be_read_is_another_matter() -> None:
    with pytest.raises(PermissionError), there_is_room(Path("/here")):
        raise PermissionError(errno.EACCES, "denied", "/there/results/cells")
