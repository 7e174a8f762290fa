"""The fast tests start nothing: what starts Snakemake, a browser or a server asks here first."""

import os

SLOW = "USERTURN_SLOW_TEST"


def starting(what: str) -> None:
    """Refuse to start something within a test that is not marked slow."""
    if "PYTEST_CURRENT_TEST" in os.environ and SLOW not in os.environ:
        raise AssertionError(f"this test starts {what}: mark it with @pytest.mark.slow")
