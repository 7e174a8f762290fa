"""With an embedder a study says how near turns are to a person's, and to an unrelated one's."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_encoder import write_tiny_encoder
from userturn.config.load import load_config
from userturn.errors import ConfigError
from userturn.models.embedder import embedded
from userturn.sources.registry import check_study
from userturn.storage.table_files import CELL_KEYS
from userturn.study.contents import FileContents
from userturn.study.grid import Grid
from userturn.study.record import study_record
from userturn.tables.make_tables import Material
from userturn.tables.turn_similarity import (
    LIMITS_OF_CHRF,
    NOBODY,
    SCHEMA,
    SIMILARITIES,
    People,
    chrf,
    chrf_to_people,
    people_of,
    table,
)
from userturn.workflow.run_job import call, inputs_of, replayed
from userturn.workflow.study import Study, asked_for

MODEL, DATASET = "smollm2-135m", "follow-ups"
# Of each item what a person said after it, and what the model does.
SAID = {
    "a": ("How many apples are left?", "How many pears?"),
    "b/turn-1": ("Why?", "Why?"),
    "b/turn-2": ("When?", " "),
    "c": (None, "Thanks."),
}
FILES = [ROOT / "config.yaml", ROOT / "profiles/demo/study.yaml"]


def study(folder: Path, **more: object) -> Study:
    config = load_config(FILES)
    config["run"] |= {"datasets": [DATASET], "temperatures": [0], "perturbations": ["none"]}
    config |= more
    return Study(Grid(config, folder / "results"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Study]:
    """The folder of a study whose turns are embedded, by the rule's own job."""
    folder = tmp_path_factory.mktemp("embedded")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        source = str(write_tiny_encoder(folder / "tiny"))
        found = study(folder, embedder={"source": source})
        wildcards = {"model": MODEL, "dataset": DATASET}
        (turns,), (items,) = inputs_of(found, "embed_turns", wildcards).values()
        _write(folder, turns, items)
        for to in (folder, folder / "again"):
            (to / "results/similarities" / MODEL).mkdir(parents=True)
            places = partial(_at, folder), partial(_at, to)
            call(replayed(found, "embed_turns", *places, wildcards))
    return folder, found


def _at(folder: Path, path: str) -> str:
    return str(folder / path)


def _write(folder: Path, turns: str, items: str) -> None:
    user = {"role": "user", "content": "Hi"}
    rows = pl.DataFrame(
        {
            "item": list(SAID),
            "messages": [[user]] * 4,
            "reference_context": [[user, {"role": "assistant", "content": "Hello."}]] * 4,
            "reference_user_turn": [person for person, _ in SAID.values()],
        }
    )
    cell = rows.select(
        model=pl.lit(MODEL),
        dataset=pl.lit(DATASET),
        temperature=0.0,
        perturbation=pl.lit("none"),
        item="item",
        sample=pl.lit(0, pl.Int64),
        outcome=pl.lit("ok"),
        text=pl.Series([model for _, model in SAID.values()]),
        finish_reason=pl.lit("stop"),
        n_tokens=pl.lit(3),
    )
    for frame, path in ((rows, items), (cell, turns)):
        (folder / path).parent.mkdir(parents=True)
        frame.write_parquet(folder / path)


def test_a_turn_is_held_against_the_person_there_and_the_one_that_chrf_takes(
    finished: tuple[Path, Study],
) -> None:
    folder, done = finished
    (path,) = done.similarities.files
    rows = pl.read_parquet(folder / path)
    assert rows.schema == pl.Schema(SIMILARITIES)
    assert (folder / path).read_bytes() == (folder / "again" / path).read_bytes()
    # The turn of `b/turn-2` has no text, and nobody is known after `c`.
    assert rows["item"].to_list() == ["a", "b/turn-1"]
    assert rows["unrelated_item"].str.slice(0, 1).to_list() == ["b", "a"]
    for row in rows.to_dicts():
        texts = [SAID[row["item"]][1], SAID[row["item"]][0], SAID[row["unrelated_item"]][0]]
        vectors = embedded(texts, done.grid.config["embedder"]["source"], None)
        cosines = [float(np.dot(vectors[0], other)) for other in vectors[1:]]
        assert [row["similarity"], row["similarity_unrelated"]] == pytest.approx(cosines, abs=1e-6)
    assert rows["similarity"][1] == 1  # the same words


def test_the_table_has_its_means_beside_those_of_chrf(finished: tuple[Path, Study]) -> None:
    folder, done = finished
    named = ("user_turns", "prepared_items", "turn_similarities")
    globs = ("cells/**/user_turns.parquet", f"datasets/{DATASET}.parquet", "similarities/*/*")
    paths = {
        name: [str(path) for path in (folder / "results").glob(glob)]
        for name, glob in zip(named, globs, strict=True)
    }
    material = Material(done.grid, {**paths, "human_items": []})
    (row,) = table(material).to_dicts()
    rows = material.read("turn_similarities")
    assert list(row) == list(SCHEMA)
    assert row["n_compared"] == material.table("turn_properties")["n_compared"].item() == 2
    assert row["similarity"] == pytest.approx(rows["similarity"].mean())
    above = (rows["similarity"] - rows["similarity_unrelated"]).mean()
    assert row["similarity_above"] == pytest.approx(above)
    assert row["chrf"] == material.table("turn_properties")["chrf"].item()
    assert row["reason"] is None
    nobody = str(folder / "nobody.parquet")
    rows.clear().write_parquet(nobody)
    material = Material(done.grid, {**material.paths, "turn_similarities": [nobody]})
    (row,) = table(material).select(*CELL_KEYS, "n_compared", "similarity", "reason").rows()
    assert row[-3:] == (0, None, NOBODY)


def test_a_study_without_an_embedder_has_no_such_file_nor_another_identity(
    finished: tuple[Path, Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    folder, done = finished
    plain = study(folder)
    with_embedder, without = asked_for(done), asked_for(plain)
    more = {
        f"results/similarities/{MODEL}/{DATASET}.parquet",
        "results/tables/turn_similarity.parquet",
    }
    assert with_embedder.keys() - without.keys() == more
    shown = {"results/study.json", "results/report/index.html"}
    assert {path for path in without if without[path] != with_embedder[path]} == shown
    contents = study_record(plain.grid.config, FileContents(plain.grid.config)).content["contents"]
    assert "embedder" not in contents


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"source": "org/encoder"}, "embedder: the key 'revision' is missing"),
        ({"source": "org/encoder", "revision": "main"}, "expected a commit of 40 digits"),
        ({"source": "./nowhere"}, r"embedder: model source '\./nowhere' does not exist"),
        ({"model": "org/encoder"}, "embedder: unknown key 'model'"),
    ],
)
def test_an_embedder_is_there_or_pinned(
    entry: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigError, match=message):
        check_study({**load_config(FILES), "embedder": entry})


USER, ANSWER = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}


def items(*rows: tuple[str, str | None, bool]) -> pl.DataFrame:
    """Return items with what a person said, after an answer to the item or to something else."""
    other = {"role": "user", "content": "Something else"}
    return pl.DataFrame(
        [
            {
                "item": item,
                "messages": [USER],
                "reference_context": [USER if answers else other, ANSWER],
                "reference_user_turn": said,
            }
            for item, said, answers in rows
        ]
    )


def test_a_person_is_held_against_one_of_another_conversation() -> None:
    table = items(
        ("a/turn-1", "Why?", True),
        ("a/turn-2", "How so?", True),
        ("b", " When? ", True),
        ("c", None, True),
        ("d", "Where?", False),  # said after something else
    )
    found = people_of(table, "d", 0)
    assert {item: people.there for item, people in found.items()} == {
        "a/turn-1": "Why?",
        "a/turn-2": "How so?",
        "b": "When?",
    }
    assert found["a/turn-1"].elsewhere == found["a/turn-2"].elsewhere == "When?"
    assert found["b"].elsewhere in ("Why?", "How so?")


def test_one_person_alone_is_held_against_nobody() -> None:
    assert people_of(items(("a", "Why?", True)), "d", 0) == {}


def cell(*said: str | None) -> pl.DataFrame:
    names = [str(i) for i in range(len(said))]
    rows: dict[str, Any] = {"item": names, "cluster": names, "said": list(said)}
    return pl.DataFrame(rows, schema_overrides={"said": pl.String})


def test_means_are_over_turns_with_text_whose_person_is_known() -> None:
    people = {"0": People("Why so?", "When?"), "1": People("And dogs?", "Why so?")}
    row = chrf_to_people(cell("Why?", "And dogs?", "No person here"), people | {"3": people["0"]})
    assert set(row) == {"n_compared", *LIMITS_OF_CHRF}
    there, elsewhere = (chrf("Why?", "Why so?"), 100.0), (chrf("Why?", "When?"), 0.0)
    elsewhere = (elsewhere[0], chrf("And dogs?", "Why so?"))
    assert row["n_compared"] == 2
    assert row["chrf"] == pytest.approx(sum(there) / 2)
    assert row["chrf_unrelated"] == pytest.approx(sum(elsewhere) / 2)
    assert row["chrf_above"] == pytest.approx((sum(there) - sum(elsewhere)) / 2)


def test_without_a_person_there_is_no_distance() -> None:
    row = chrf_to_people(cell("Why?", None), {})
    assert row == {"n_compared": 0} | dict.fromkeys(LIMITS_OF_CHRF)


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        (
            "Do the black cats sleep at night?",
            "Where do the black cats sleep when it rains?",
            52.175296471582136,
        ),
        ("Why?", "Why so?", 35.71925431274346),
        ("ab", "Where do cats sleep?", 3.571428571428572),
        ("xyz", "abc def ghi jkl", 0.0),
        ("And what about dogs?", "And what about dogs?", 100.0),
        ("Où dorment les chats noirs ?", "Les chats noirs dorment où ?", 68.81673056158182),
        ("猫はどこですか", "犬はどこにいますか", 18.79627212007378),
    ],
)
def test_scores_are_those_of_sacrebleu(text: str, reference: str, score: float) -> None:
    # Version 2.6.0: `CHRF().sentence_score(text, [reference]).score`.
    assert chrf(text, reference) == pytest.approx(score, abs=1e-9)


def test_white_space_alone_shares_nothing() -> None:
    assert chrf(" \n", "Why?") == chrf("Why?", "") == 0
