"""The artifacts that a finished study must have."""

from userturn.provenance.study_files import Files
from userturn.remake.outcome import MADE_AGAIN
from userturn.storage.atomic_files import read_identity
from userturn.workflow.artifacts import Identities, asked_for, is_optional
from userturn.workflow.study import Study


def wanted_of(files: Files, study: Study) -> Identities:
    """Return the artifacts that a study must have, with their identities.

    Tables and what shows them have None: they are made again and compared, whatever an earlier
    version called them. Samples for people may be missing, or be those that an earlier round was
    drawn from.
    """
    before = drawn_from_before(files, study)
    return {
        path: None if path.startswith(MADE_AGAIN) else identity
        for path, identity in asked_for(study).items()
        if not is_optional(path) or (path in files.makers and path not in before)
    }


def drawn_from_before(files: Files, study: Study) -> set[str]:
    """Return the samples for people that a round was drawn from and that nothing made again since.

    A round is drawn once. Where a cell's verdicts changed after that, by another judge, setting or
    version of the code, its sample stays what the round was drawn from, and no job needs it.
    """
    if not any(path in files.makers for path in study.humans.keys):
        return set()
    asked = {path: identity for path, identity in asked_for(study).items() if is_optional(path)}
    return {
        path
        for path, identity in asked.items()
        if files.at(path).is_file()
        and path in files.makers
        and (files.made_of_others(path) or read_identity(files.at(path)) != identity)
    }
