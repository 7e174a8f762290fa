"""Equal pictures give equal PDFs: the objects of a PDF in one order.

The converter's order of fonts and resources varies, and it numbers its objects in that order.
Here objects are numbered as they are reached from the trailer, with named resources sorted.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

USED = re.compile(rb"(\d{10}) 00000 n")
TABLE, TRAILER, STREAM = b"\nxref\n", b"trailer\n", b"stream\n"
REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
RESOURCES = re.compile(rb"(?:^ */\w+ \d+ 0 R\n){2,}", re.MULTILINE)  # a run of named ones
SIZE = re.compile(rb"/Size \d+")


def canonical_order(pdf: bytes) -> bytes:
    """Return a PDF of the converter with its objects in an order that equal PDFs share."""
    body, _, rest = pdf.rpartition(TABLE)
    table, _, trailer = rest.partition(TRAILER)
    trailer = trailer.partition(b"startxref")[0]
    body += b"\n"
    begins = sorted({int(number) for number in USED.findall(table)})
    objects = dict(_parts(body, [*begins, len(body)]))
    numbers: dict[bytes, int] = {}
    waiting = _references(trailer)
    while waiting:
        name = waiting.pop(0)
        if name not in numbers:
            numbers[name] = len(numbers) + 1
            waiting = [*_references(objects[name][0]), *waiting]
    written, offsets = [pdf[: begins[0]]], []
    for name in numbers:
        offsets.append(sum(map(len, written)))
        head, stream = objects[name]
        written.append(b"%d 0 obj\n%s%s" % (numbers[name], _renumbered(head, numbers), stream))
    at = sum(map(len, written))
    used = b"".join(b"%010d 00000 n\r\n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f\r\n" % (len(offsets) + 1)
    last = SIZE.sub(b"/Size %d" % (len(offsets) + 1), _renumbered(trailer, numbers))
    return b"".join([*written, head, used, TRAILER, last, b"startxref\n%d\n%%%%EOF" % at])


def _parts(body: bytes, begins: list[int]) -> Iterator[tuple[bytes, tuple[bytes, bytes]]]:
    for begin, end in pairwise(begins):
        number, _, content = body[begin:end].partition(b" 0 obj\n")
        head, mark, stream = content.partition(STREAM)
        ordered = RESOURCES.sub(lambda run: b"".join(sorted(run[0].splitlines(True))), head)
        yield number, (ordered, mark + stream)


def _references(text: bytes) -> list[bytes]:
    return REFERENCE.findall(text)


def _renumbered(text: bytes, numbers: dict[bytes, int]) -> bytes:
    return REFERENCE.sub(lambda match: b"%d 0 R" % numbers[match[1]], text)
