"""A record that is none, or has no configuration that can be used, is an error in one sentence."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from userturn.errors import UserError
from userturn.study.contents import RecordedContents
from userturn.study.record import read_study_record

CONTENTS = json.dumps({field.name: {} for field in fields(RecordedContents)})


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "[" * 100_000,
        f'{{"config": null, "contents": {CONTENTS}}}',
        f'{{"config": {{"seed": NaN}}, "contents": {CONTENTS}}}',
    ],
)
def test_what_is_no_record_of_a_study_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(UserError, match="is not the record of a study"):
        read_study_record(tmp_path)


def test_a_study_of_more_cells_than_can_be_listed_is_refused(tmp_path: Path) -> None:
    config = {axis: ["a"] for axis in ("models", "datasets", "perturbations")}
    content = {"config": config | {"temperatures": list(range(200_000))}, "contents": CONTENTS}
    text = json.dumps(content).replace(json.dumps(CONTENTS), CONTENTS)
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(UserError, match="200000 cells, expected at most 100000"):
        read_study_record(tmp_path)


def test_a_configuration_without_models_is_said(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(f'{{"config": {{}}, "contents": {CONTENTS}}}')
    record = read_study_record(tmp_path)
    with pytest.raises(UserError, match="has no configuration that this version understands"):
        record.grid(tmp_path)
