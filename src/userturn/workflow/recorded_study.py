"""The study that a results folder is of, by its record alone."""

from pathlib import Path

from userturn.errors import UserError
from userturn.study.record import StudyRecord, read_study_record
from userturn.workflow.artifacts import asked_for
from userturn.workflow.study import Study


def open_record(results: Path) -> tuple[StudyRecord, Study]:
    """Return the record of a results folder, and its study.

    Raises:
        UserError: there is no record, or it is not one of a study.
    """
    record = read_study_record(results)
    try:
        study = Study(record.grid(results))
        asked_for(study)  # an incomplete record cannot say what it asks for
        [study.grid.user_turn_settings(t) for t in study.grid.temperatures.values()]
        return record, study
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise UserError(
            f"'{results}/study.json' has no configuration that this version understands "
            f"({type(error).__name__}: {error}); use the version that made it"
        ) from error
