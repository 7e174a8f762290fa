"""Does a stranger's configuration name files outside of its study? None of them is opened.

The study of the present folder is the user's own, whose files may lie anywhere.
"""

from userturn.audit.findings import Finding
from userturn.config.named_paths import faults_of_paths
from userturn.config.trust import is_of_this_folder
from userturn.provenance.study_files import Files
from userturn.study.record import RECORD, StudyRecord

STUDY = f"results/{RECORD}"
FIX = "in its own folder an audit opens it; for others, put it there by a relative path"


def check_paths(files: Files, record: StudyRecord) -> list[Finding]:
    """Return the files that a stranger's configuration names and an audit does not open.

    A record of a job that names such a file is not read at all, which is found with the records.
    """
    if is_of_this_folder(files.results):
        return []
    return [
        Finding("paths", STUDY, "a file inside the study", f"{key}: {path}, {why}", FIX)
        for key, path, why in faults_of_paths(record.config, files.results.parent)
    ]
