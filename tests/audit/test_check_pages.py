"""A report is held against what is drawn here only where this machine draws as the study's did."""

from pathlib import Path

import altair as alt
import polars as pl
import pytest

from userturn.audit.check_pages import draws_alike
from userturn.figures.theme import save
from userturn.provenance.study_files import Files


@pytest.mark.parametrize(
    ("n_others", "is_alike"), [(0, True), (1, True), (2, False)], ids=["none", "one", "both"]
)
def test_a_machine_draws_alike_if_at_least_half_of_the_pictures_are_equal(
    tmp_path: Path, n_others: int, is_alike: bool
) -> None:
    table = pl.DataFrame({"a": [1, 2]})
    for number in range(2):
        path = tmp_path / "results" / "figures" / f"figure_{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        chart = alt.Chart(table, title=f"figure {number}").mark_point().encode(x="a:Q")
        save(chart, "i", [f"{path}.vl.json", f"{path}.svg"])
        if number < n_others:
            svg = path.with_suffix(".svg")
            svg.write_text(svg.read_text().replace("font-size", "font-siz", 1))
    assert draws_alike(Files(tmp_path / "results", {})) == is_alike
