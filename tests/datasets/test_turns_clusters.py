"""Which items of a dataset belong together."""

import polars as pl
import pytest

from userturn.datasets.turns import cluster_of, clusters, version_id


@pytest.mark.parametrize(
    ("item", "cluster"),
    [
        ("x/turn-12", "x"),
        ("u1/turn-2/u3", "u1"),
        (version_id("7", "de/7"), "7"),
        (f"{version_id('7', 'x')}/turn-2", "7"),
        (f"{version_id('7', 'x')}/turn-2/u3", "7"),
        ("test/algebra/7.json", "test/algebra/7.json"),
        ("turn-3", "turn-3"),
        ("version", "version"),
    ],
)
def test_an_id_names_the_conversation_or_problem_that_it_belongs_to(
    item: str, cluster: str
) -> None:
    assert cluster_of(item) == cluster
    assert pl.DataFrame({"item": [item]}).select(clusters()).item() == cluster
