"""Labels of pairs come in: what a label says of the model's turn, and what is wrong with a file."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.paired_study import pair_key, paired_of, turns_of
from userturn.errors import UserError
from userturn.humans.import_labels import PAIR_LABELS_SCHEMA, import_pairs

KEY = pair_key(paired_of(turns_of(4), n=4), 4)
IDS = KEY["id"].to_list()
HEAD = "round,annotator,id,label,notes,unsure,seconds"


def imported(folder: Path, *lines: str, skip: bool = False) -> pl.DataFrame:
    """Import one file of labels of the round `pairs`."""
    key, out, file = folder / "key.parquet", folder / "labels.parquet", folder / "ann.csv"
    KEY.write_parquet(key)
    file.write_text("\n".join((HEAD, *lines)) + "\n", "utf-8")
    import_pairs("pairs", skip, "identity", [str(file)], str(key), str(out))
    return pl.read_parquet(out)


def test_the_models_turn_is_chosen_where_the_label_is_not_the_persons_place(
    tmp_path: Path,
) -> None:
    labels = imported(tmp_path, *(f"pairs,Ann,{id},first,,false,2" for id in IDS))
    assert labels.schema == PAIR_LABELS_SCHEMA
    assert labels["model_chosen"].to_list() == [p == "second" for p in KEY["person"]]
    assert labels.select("item", "conversation").equals(KEY.select("item", "conversation"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("pairs,Ann,{0},both,,,", "'both' is not a turn of a pair; expected one of: first, second"),
        ("pairs,Ann,{0},frist,,,", "'frist' is not a turn of a pair, did you mean 'first'?"),
        ("first,Ann,{0},first,,,", "the round is 'first', expected 'pairs'"),
        ("pairs,Ann,0000,first,,,", "the id '0000' is not in this round"),
        ("pairs,,{0},first,,,", "the annotator is missing"),
        ("pairs,Ann,{0},first,,,", "annotator 'Ann': 3 of 4 pairs have no label"),
    ],
)
def test_what_is_wrong_with_a_row_is_said_in_a_sentence(
    tmp_path: Path, line: str, said: str
) -> None:
    with pytest.raises(UserError) as error:
        imported(tmp_path, line.format(*IDS))
    assert said in str(error.value)


def test_bad_rows_are_left_out_where_the_config_says_so(tmp_path: Path) -> None:
    lines = (f"pairs,Ann,{IDS[0]},second,,true,1", f"pairs,Ann,{IDS[1]},third,,,")
    labels = imported(tmp_path, *lines, skip=True)
    assert labels.select("id", "unsure", "seconds").rows() == [(IDS[0], True, 1.0)]


def test_a_round_without_files_says_how_to_start_and_has_an_empty_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, out = tmp_path / "key.parquet", tmp_path / "labels.parquet"
    KEY.write_parquet(key)
    import_pairs("pairs", False, "identity", [], str(key), str(out))
    said = capsys.readouterr().out
    assert "label its 4 pairs in results/pairs/pairs/task.html" in said
    assert pl.read_parquet(out).schema == PAIR_LABELS_SCHEMA
