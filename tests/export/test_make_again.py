"""Where nothing can be written, a command ends; what it reads is not called damaged."""

import errno
import os
from pathlib import Path

import pytest

from userturn.errors import NoRoomError
from userturn.export.make_again import there_is_room
from userturn.workflow.study_files import FAULTS


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
