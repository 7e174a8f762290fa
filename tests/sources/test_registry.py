"""Every source declares what earlier studies had: paths, identities, order."""

import ast
import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.load import keep_own_rubric, load_study
from userturn.sources.registry import (
    asked,
    asked_of,
    judged,
    source_jobs,
    sources,
    stages,
    verdicts_identity,
)
from userturn.sources.source import ANSWERS, SCORES, USER_TURNS
from userturn.study.grid import Grid

FROZEN = Path(__file__).with_name("identities.json")  # by folder and file, their beginnings


def everything() -> dict[str, Any]:
    """Return a study of 3 models, 2 formats, 3 shards, 3 temperatures, 2 judges, every source."""
    config = copy.deepcopy(load_study(["tests/fixtures/demo.yaml", "profiles/demo/wider.yaml"]))
    model = config["models"]["smollm2-135m"]
    config["models"] |= {name: {**model, "shards": 3} for name in "bc"}
    config["judges"]["h2"] = {**config["judges"]["heuristic"], "grounded": 0.2}
    run = {"models": ["smollm2-135m", "b", "c"], "judges": ["heuristic", "h2"]}
    config["run"] |= run | {"temperatures": [0, 0.5, 1.0]}
    config |= {"samples": 3, "formats": {"no_system": {"system": "none"}}}
    config["controls"]["human"] = ["follow-ups"]
    config["answers_from"] = ["b", "c", "reference"]
    del config["language_detector"]  # which an earlier study does not name
    return config


@pytest.fixture
def grid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Grid:
    monkeypatch.chdir(ROOT)
    config = everything()
    config["controls"]["unseen_answer"] = 20  # of a control, which earlier studies have not
    config["run"]["perturbations"].append("no_answer")
    return Grid(config, tmp_path)


def test_the_663_identities_of_earlier_studies_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Journals and finished studies are known by them."""
    monkeypatch.chdir(ROOT)
    record = {"contents": {"texts": {"data/rubric.yaml": ""}}}
    (tmp_path / "study.json").write_text(json.dumps(record))
    config = everything()
    keep_own_rubric(config, tmp_path)
    grid = Grid(config, tmp_path)
    found = {of.path: of.identity for of in asked(grid).values()}
    for turns in judged(grid).values():
        found[turns.path] = turns.identity
        for judge in grid.judges:
            found[turns.verdicts(judge)] = verdicts_identity(grid, turns, judge)
    frozen = {
        f"results/{folder}/{name}": identity
        for folder, files in json.loads(FROZEN.read_text()).items()
        for name, identity in files.items()
    }
    assert len(frozen) == 663
    assert {path: found.get(path, "")[:12] for path in frozen} == frozen


def test_every_source_has_something_in_a_study_with_all_of_them(grid: Grid) -> None:
    for name, source in sources().items():
        turns = [of.folder for of in source.judged(grid)]
        patterns = [re.sub(r"{\w+}", "[^/]+", rule.folder) for rule in source.judge_rules]
        has_any = [*source.asked(grid), *turns]
        assert has_any, f"{name} is off: turn it on in `everything` of this module"
        read = [{of for of in turns if re.fullmatch(pattern, of)} for pattern in patterns]
        assert all(read) and set().union(*read) == {*turns}, name


def test_every_table_of_texts_says_what_its_prompts_need(grid: Grid) -> None:
    """Else a sweep would end in it, which a plan does not see."""
    known = asked(grid)
    for of in known.values():
        assert of.kind == SCORES or {"temperature", "max_tokens"} <= of.sampling.keys(), of.path
        if of.kind == USER_TURNS:
            assert of.after and known[of.stands_after].kind == ANSWERS, of.path
            assert of.cell.keys() == {"temperature", "perturbation"}, of.path


def test_no_two_sources_make_one_file_and_each_file_is_made_by_a_rule(grid: Grid) -> None:
    made = [of.path for source in sources().values() for of in source.asked(grid)]
    made += [
        of.path for s in sources().values() for of in s.judged(grid) if of.path not in asked(grid)
    ]
    assert len(made) == len(set(made))
    outputs = [path for job in source_jobs().values() for path in job.outputs.values()]
    patterns = [re.sub(r"{\w+}", "[^/]+", str(path)) for path in outputs]
    assert [path for path in made if not any(re.fullmatch(of, path) for of in patterns)] == []


def test_a_table_is_asked_for_after_all_that_its_prompts_are_made_of(grid: Grid) -> None:
    tables = asked_of(grid, "b")
    done: set[str] = set()
    for stage in stages(tables):
        own = {path for of in stage for path in of.after if asked(grid)[path].model == "b"}
        assert own <= done
        done |= {of.path for of in stage}
    assert done == {of.path for of in tables}


def test_everything_that_a_prompt_is_made_of_is_asked_for(grid: Grid) -> None:
    known = asked(grid)
    assert {path for of in known.values() for path in of.after} <= known.keys()
    made_of = {path for turns in judged(grid).values() for path in turns.input_paths}
    conversations = {turns.items for turns in judged(grid).values()}
    assert made_of - conversations <= known.keys()


def test_no_file_but_its_own_and_the_configuration_names_a_kind_of_turn() -> None:
    """What `docs/extending.md` promises, told by the kind that reaches furthest."""
    library = ROOT / "src" / "userturn"
    own = {f"{package}/self_play.py" for package in ("sources", "generation", "tables", "figures")}
    files = [*library.rglob("*.py"), *ROOT.glob("rules/*.smk"), ROOT / "Snakefile"]
    naming = {path for path in files if re.search(r"self_?play", _code(path), re.IGNORECASE)}
    found = {path.relative_to(library).as_posix() for path in naming}
    assert found == own | {"config/study_keys.py"}


def _code(path: Path) -> str:
    """Return a file's text; of Python, its code without docstrings and comments."""
    text = path.read_text()
    if path.suffix != ".py":
        return text
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        is_said = isinstance(body, list) and body and isinstance(body[0], ast.Expr)
        if is_said and isinstance(body[0].value, ast.Constant):
            body[0].value.value = ""
    return ast.unparse(tree)
