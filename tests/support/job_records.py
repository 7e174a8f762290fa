"""The provenance record of a made-up job."""

from typing import Any

from userturn.storage.files import SCHEMA_VERSION

MADE = {"code_sha256": "0" * 64, "commit": None}


def job_record(rule: str, **known: Any) -> dict[str, Any]:
    """Return the record of a rule's job, of which nothing else is known but what is given."""
    nothing = {name: {} for name in ("wildcards", "inputs", "outputs", "beside", "journals")}
    begun = {"schema_version": SCHEMA_VERSION, "rule": rule, "identity": None, "made": MADE}
    return {**begun, **nothing, **known}
