"""Equal charts give equal PDFs, which say where each of their objects is."""

import re
from itertools import count

import pytest
from vl_convert import vegalite_to_pdf

from userturn.html.chart import pdf_of
from userturn.html.pdf import canonical_order

CHART = {
    "data": {"values": [{"a": n, "b": n % 3, "c": str(n % 2)} for n in range(9)]},
    "mark": {"type": "point", "opacity": 0.5},
    "title": {"text": "A title", "subtitle": "with letters of a second face: é"},
    "encoding": {
        "x": {"field": "a", "type": "quantitative"},
        "y": {"field": "b", "type": "quantitative"},
        "color": {"field": "c", "type": "nominal"},
    },
}
OBJECT = re.compile(rb"(?m)^(\d+) 0 obj$")


@pytest.fixture(scope="module")
def raw() -> bytes:
    return vegalite_to_pdf(CHART)


def test_equal_charts_give_equal_bytes_and_other_charts_others() -> None:
    assert {canonical_order(vegalite_to_pdf(CHART)) for _ in range(6)} == {pdf_of(CHART)}
    assert pdf_of({**CHART, "title": "Another"}) != pdf_of(CHART)


def test_every_object_is_kept_and_is_where_the_table_says(raw: bytes) -> None:
    pdf = canonical_order(raw)
    assert len(OBJECT.findall(pdf)) == len(OBJECT.findall(raw))
    offsets = [int(found) for found in re.findall(rb"(\d{10}) 00000 n", pdf)]
    for number, offset in zip(count(1), offsets):
        assert pdf[offset:].startswith(b"%d 0 obj\n" % number)
    (table,) = re.findall(rb"startxref\n(\d+)", pdf)
    assert pdf[int(table) :].startswith(b"xref\n0 %d\n" % (len(offsets) + 1))


def test_the_contents_of_streams_stay_as_they_are(raw: bytes) -> None:
    streams = [
        sorted(re.findall(rb"stream\n.*?endstream", pdf, re.S))
        for pdf in (raw, canonical_order(raw))
    ]
    assert streams[0] == streams[1] != []
