"""One cluster for all tests that need one."""

from collections.abc import Iterator

import pytest

from tests.slurm.cluster import Cluster, reason_to_skip, running_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    reason = reason_to_skip()
    if reason is not None:
        pytest.skip(reason)
    with running_cluster() as started:
        yield started
