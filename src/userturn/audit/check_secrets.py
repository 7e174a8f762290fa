"""Is there a key or password in any file of a study?"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from userturn.audit.findings import Finding
from userturn.export.secrets import find_secrets, key_values
from userturn.study.record import StudyRecord
from userturn.workflow.study_files import FAULTS


def check_secrets(results: Path, record: StudyRecord, broken: frozenset[str]) -> Iterator[Finding]:
    """Yield every place that looks like a secret; the secret itself is never shown."""
    values = key_values(record.config)
    fix = "revoke that key where it was issued, then remove it from the file"
    for path in sorted(path for path in results.rglob("*") if path.is_file()):
        with suppress(*FAULTS, pa.ArrowException):  # a damaged file is reported as altered
            name = f"results/{path.relative_to(results)}"
            for secret in find_secrets(path, values):
                found = f"{secret.kind} at {secret.place}"
                yield Finding("secrets", name, "no secret", found, fix)
