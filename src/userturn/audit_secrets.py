"""Is there a key or password in any file of a study?"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from userturn.findings import Finding
from userturn.secrets import find_secrets, key_values


def check_secrets(results: Path, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield every place that holds what looks like a secret; the secret itself is never shown."""
    values = key_values(config)
    for path in sorted(path for path in results.rglob("*") if path.is_file()):
        try:
            secrets = find_secrets(path, values)
        except (OSError, pa.ArrowException):
            continue  # a damaged file is found altered
        for secret in secrets:
            yield Finding(
                "secrets",
                f"results/{path.relative_to(results)}",
                "no secret",
                f"{secret.kind} at {secret.place}",
                "make that key invalid where it was issued, then take it out of the file",
            )
