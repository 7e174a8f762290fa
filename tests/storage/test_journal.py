"""The journal: nothing finished is lost, nothing torn is believed."""

import os
from pathlib import Path

import pytest

from tests.support.journal_lines import read_journal
from userturn.storage.journal import Writer, decode_line, encode_line, read_lines


def record(key: str, outcome: str = "ok", text: str = "Why?") -> dict[str, object]:
    return {"key": key, "outcome": outcome, "text": text}


def write(folder: Path, *records: dict[str, object]) -> Path:
    with Writer(folder) as writer:
        for one in records:
            writer.append(one)
    return writer.path


@pytest.mark.parametrize(
    "text", ["", 'a "quoted"\nline', "\u2028 \U0001f642 <|im_end|>", "x" * 10**6]
)
def test_line_gives_back_its_record(text: str) -> None:
    assert decode_line(encode_line(record("k", text=text))) == record("k", text=text)


def test_line_cut_at_any_byte_is_refused() -> None:
    line = encode_line(record("k"))
    assert [n for n in range(len(line)) if decode_line(line[:n]) is not None] == []


def test_line_with_any_byte_changed_is_refused() -> None:
    line = encode_line(record("k"))
    for position in range(len(line) - 1):
        changed = bytearray(line)
        changed[position] ^= 1
        assert decode_line(bytes(changed)) is None, position


def test_later_reader_gets_what_was_added_and_a_line_that_had_not_ended(tmp_path: Path) -> None:
    path = write(tmp_path, record("a"))
    (first,) = read_lines(path)
    line = encode_line(record("b"))
    with path.open("ab") as file:
        file.write(line[:-3])
        file.flush()
        (half,) = read_lines(path, first.end)
        file.write(line[-3:])
    (rest,) = read_lines(path, half.end)
    assert (half.whole, half.n_torn, half.end) == ([], 1, first.end)
    assert (rest.whole, rest.n_torn, rest.end) == ([line], 0, path.stat().st_size)


def test_writers_never_share_a_file(tmp_path: Path) -> None:
    with Writer(tmp_path) as one, Writer(tmp_path) as other:
        one.append(record("a"))
        other.append(record("b"))
    assert one.path != other.path
    assert set(read_journal(tmp_path)) == {"a", "b"}


def test_writer_without_a_line_leaves_no_file(tmp_path: Path) -> None:
    write(tmp_path / "journal")
    assert not (tmp_path / "journal").exists()


def test_full_disk_is_an_error_and_keeps_earlier_lines(tmp_path: Path) -> None:
    # /dev/full takes every write for one on a full disk; a line is there before the writer ends.
    writer = Writer(tmp_path)
    writer.append(record("a"))
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._descriptor or -1)
    with pytest.raises(OSError, match="No space left on device"):
        writer.append(record("b"))
    assert set(read_journal(tmp_path)) == {"a"}
