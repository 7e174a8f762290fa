"""Is there a key or password in any file of a study?"""

from pathlib import Path

import pyarrow as pa

from userturn.audit.findings import Finding
from userturn.export.secrets import find_secrets, key_values
from userturn.study.record import read_study_record


def check_secrets(results: Path) -> list[Finding]:
    """Return every place that looks like a secret; the secret itself is never shown."""
    values, found = key_values(read_study_record(results).config), []
    for path in sorted(path for path in results.rglob("*") if path.is_file()):
        try:
            secrets = find_secrets(path, values)
        except (OSError, pa.ArrowException):
            continue  # a damaged file is reported as altered
        found += [
            Finding(
                "secrets",
                f"results/{path.relative_to(results)}",
                "no secret",
                f"{secret.kind} at {secret.place}",
                "revoke that key where it was issued, then remove it from the file",
            )
            for secret in secrets
        ]
    return found
