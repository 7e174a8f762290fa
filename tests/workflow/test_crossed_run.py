"""Three models after each other's answers, by the whole workflow: finished once, and audited."""

from itertools import product
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.support.snakemake_runs import copy_project, n_requests, planned, run
from tests.support.tiny_model import write_tiny_model
from userturn.audit.run import audit

pytestmark = [pytest.mark.slow, pytest.mark.long]
MODELS = ("a", "b", "c")
N_ITEMS = 3


@pytest.fixture(scope="module")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study of three models, each after its own and after the others' answers."""
    folder = copy_project(tmp_path_factory.mktemp("crossed") / "study")
    study = yaml.safe_load((folder / "study.yaml").read_text())
    entry = study["models"].pop("tiny")
    for seed, name in enumerate(MODELS):
        write_tiny_model(folder / "models" / name, seed)
        study["models"][name] = {**entry, "source": f"./models/{name}"}
    study["datasets"]["word-problems"]["limit"] = N_ITEMS
    study["run"] |= {"models": [*MODELS], "temperatures": [0], "perturbations": ["none"]}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    assert planned(folder)["sweep_after_others"] == 0
    (folder / "study.yaml").write_text(yaml.safe_dump(study | {"answers_from": [*MODELS]}))
    assert planned(folder)["sweep_after_others"] == len(MODELS)
    run(folder)
    return folder


def test_each_model_answers_once_and_speaks_after_every_model(crossed: Path) -> None:
    for name in MODELS:  # its answers, and a turn after each model's
        assert n_requests(crossed, model=name) == N_ITEMS * (1 + len(MODELS))
    table = pl.read_parquet(crossed / "results/tables/crossed_answers.parquet")
    pairs = table.filter(pl.col("effect") == "pair", pl.col("dataset") == "word-problems")
    assert {*pairs.select("model", "answers_from").iter_rows()} == {*product(MODELS, MODELS)}
    assert "after answers of c, %" in (crossed / "results/tables/crossed_answers.md").read_text()


def test_its_audit_has_no_finding_and_a_second_run_nothing_to_do(crossed: Path) -> None:
    assert audit(crossed / "results").findings == []
    assert not planned(crossed)


def test_without_the_key_the_rest_of_the_study_stays_finished(crossed: Path) -> None:
    path = crossed / "study.yaml"
    whole = path.read_text()
    study = yaml.safe_load(whole)
    del study["answers_from"]
    path.write_text(yaml.safe_dump(study))
    jobs = planned(crossed)
    path.write_text(whole)
    assert not {"sweep", "sweep_after_others", "collect_user_turns", "judge", "analyse"} & {*jobs}
