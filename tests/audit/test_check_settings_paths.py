"""Checking or remaking a stranger's study runs nothing of it, reads nothing else, asks nobody."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.forgery import forge
from tests.support.judge_server import judge_server
from userturn.audit.run import audit
from userturn.cli.main import main
from userturn.export.write_archive import export

pytestmark = pytest.mark.slow

EVIL = "data/evil.py"
OWN = ["--configfile", "study.yaml"]


@pytest.fixture
def theirs(study: Path) -> Path:
    """A study with a program among its texts, which leaves a file behind if anything runs it."""
    ran = study.parent / "ran"
    (study / EVIL).write_text(f"open({str(ran)!r}, 'w').write('ran')\n")
    return study


def change(study: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Edit the configuration in a study's record, with the record's hash in all others."""
    path = study / "results" / "study.json"
    content = json.loads(path.read_text())
    edit(content["config"])
    path.write_text(json.dumps(content))
    forge(study / "results", "study.json", everywhere=True)


def packed(study: Path) -> Path:
    """Return the study's archive, with everything beside the results in it."""
    archive = study.parent / "theirs.zip"
    export(study / "results", archive)
    return archive


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another folder to work in, without a study."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


_opened: list[str] = []
_is_watching = False


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _is_watching and event == "open" and isinstance(arguments[0], str):
        _opened.append(os.path.realpath(arguments[0]))


sys.addaudithook(_watch)  # of Python's own opening of files; it cannot be removed again


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """Record the files that Python opens, links followed."""
    global _is_watching
    _opened.clear()
    _is_watching = True
    try:
        yield _opened
    finally:
        _is_watching = False


def served_judge(config: dict[str, Any]) -> None:
    """Make vLLM's server load a program for a judge of the run."""
    vllm = {"trust_remote_code": True, "tool_parser_plugin": EVIL}
    judge = {"kind": "endpoint", "model": "org/m", "serve": True, "gpus": 0, "vllm": vllm}
    config["judges"]["evil"] = judge
    config["run"]["judges"] = ["heuristic", "evil"]


def engine_plugin(config: dict[str, Any]) -> None:
    """Make vLLM's engine load a program."""
    plugin = {"reasoning_parser": "evil", "reasoning_parser_plugin": EVIL}
    config["vllm"] = {"structured_outputs_config": plugin}


def recipe_judge(config: dict[str, Any]) -> None:
    """Name a judge with a key in a recipe, and not in the run."""
    judge = {"kind": "endpoint", "base_url": "https://author.example/v1", "model": "m"}
    config["judges"]["friendly"] = judge | {"key_variable": "AWS_SECRET_ACCESS_KEY"}
    config["models"]["trained"] = {"base": "tiny", "recipe": "evil"}


ATTACKS = {"served judge": served_judge, "engine": engine_plugin, "recipe": recipe_judge}


@pytest.mark.parametrize("attack", ATTACKS)
def test_strangers_study_is_not_run_again(
    attack: str, theirs: Path, elsewhere: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    change(theirs, ATTACKS[attack])
    archive, anew = packed(theirs), elsewhere / "anew"
    assert main(["remake", str(archive), "--to", str(anew), "--sweep"]) == 1
    told = capfd.readouterr()
    said = told.err
    assert "`--sweep` was refused" in said and "tables, figures and report are made again" in said
    assert said.count("error: ") == 1
    is_listed = "judges.friendly.key_variable" in told.out + told.err
    assert is_listed == (attack == "recipe")  # the others say what nobody knows
    assert not anew.exists() and not (theirs.parent / "ran").exists()


@pytest.mark.parametrize("asking", [["--regenerate", "1"], ["--rejudge", "1"]])
def test_models_and_judges_of_a_strangers_study_are_not_asked(
    asking: list[str], theirs: Path, elsewhere: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    change(theirs, engine_plugin)
    for place in (packed(theirs), theirs / "results"):
        assert main(["audit", str(place), *asking, "--to", "out"]) == 2
        said = capfd.readouterr().err
        assert f"`{asking[0]}` was refused" in said and "an audit without it runs no model" in said
    assert not (elsewhere / "out").exists() and not (theirs.parent / "ran").exists()


def test_a_strangers_judge_is_asked_once_exactly_its_list_is_confirmed(
    theirs: Path, elsewhere: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asking = ["audit", str(theirs / "results"), "--rejudge", "2", "--nonce", "n", "--to", "out"]
    assert main(asking) == 2
    (name,) = re.findall(r"--trust (\w{64})", capfd.readouterr().err)
    assert main([*asking, "--trust", "0" * 64]) == 2
    assert "is of another list" in capfd.readouterr().err
    assert main([*asking, "--trust", name]) == 0
    assert "2 random verdicts" in capfd.readouterr().out


def test_a_link_out_of_a_strangers_study_is_not_exported(
    theirs: Path, elsewhere: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    canary = theirs.parent / "canary.txt"
    canary.write_text("secret of the auditor")
    (theirs / "results/tables/mine.csv").symlink_to(canary)
    assert main(["export", str(theirs / "results"), "--to", "out.zip"]) == 1
    assert "outside of the study, and was not opened" in capfd.readouterr().err
    assert not Path("out.zip").exists()


def test_own_folder_with_other_settings_is_a_strangers(
    study: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(study)
    assert main(["audit", "results", "--rejudge", "1"]) == 2
    said = capfd.readouterr().err
    assert "has other settings than config.yaml here, which `--configfile` may add to" in said
    change(study, engine_plugin)
    assert main(["audit", "results", "--rejudge", "1", *OWN]) == 2
    assert "(vllm." in capfd.readouterr().err


def chart_with_address(study: Path, address: str) -> str:
    """Put the address of some data into a figure, and its hash into the records."""
    figure = sorted((study / "results" / "figures").glob("*.vl.json"))[0]
    chart = json.loads(figure.read_text())
    figure.write_text(json.dumps({**chart, "data": {"url": address}}))
    forge(study / "results", f"figures/{figure.name}", everywhere=True)
    return f"results/figures/{figure.name}"


def test_figure_that_would_fetch_something_is_found_and_nobody_is_asked(
    theirs: Path, elsewhere: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with judge_server() as server:
        figure = chart_with_address(theirs, f"{server.url}/vega.json")
        archive = packed(theirs)
        assert main(["audit", str(archive)]) == 1
        said = capfd.readouterr().out
        main(["remake", str(archive), "--to", "anew"])
        assert main(["audit", str(theirs / "results"), "--to", "out"]) == 1
    assert server.asked == []
    assert f"figures: {figure}" in said and "a `url` in it; it was not drawn" in said


NAMED = {
    "datasets.word-problems.instruction": lambda c, path: c["datasets"]["word-problems"].update(
        instruction=path
    ),
    "datasets.word-problems.file": lambda c, path: c["datasets"]["word-problems"].update(file=path),
    "models.tiny.chat_template": lambda c, path: c["models"]["tiny"].update(chat_template=path),
    "models.tiny.system": lambda c, path: c["models"]["tiny"].update(system=path),
    "judges.heuristic.rubric": lambda c, path: c["judges"]["heuristic"].update(rubric=path),
}


def link(study: Path, canary: Path) -> str:
    (study / "data" / "link.txt").symlink_to(canary)
    return "data/link.txt"


def pipe(study: Path, canary: Path) -> str:
    os.mkfifo(study / "data" / "pipe")
    return "data/pipe"


PATHS: dict[str, tuple[Callable[[Path, Path], str], str]] = {  # each, and what is said of it
    "absolute": (lambda study, canary: str(canary), "not relative"),
    "up": (lambda study, canary: f"../{canary.name}", "outside of the study"),
    "a link": (link, "outside of the study"),
    "a pipe": (pipe, "a pipe, a socket or a device"),
    "a zero": (lambda study, canary: "data/\0", "no path"),
    "too long": (lambda study, canary: "x" * 5000, "no path"),
}


@pytest.mark.parametrize("form", PATHS)
def test_what_a_strangers_study_names_elsewhere_is_found_at_each_key_and_not_opened(
    form: str, theirs: Path, elsewhere: Path
) -> None:
    canary = theirs.parent / "canary.txt"
    canary.write_text("secret of the auditor")
    path_of, said = PATHS[form]
    path = path_of(theirs, canary)
    for name in NAMED.values():
        change(theirs, partial(name, path=path))
    with opened_files() as opened:
        found = [one.found for one in audit(theirs / "results").findings if one.check == "paths"]
    assert str(canary) not in opened and str(theirs / "results" / "study.json") in opened
    assert sorted(one.partition(": ")[0] for one in found) == sorted(NAMED)
    assert all(one.endswith(f", {said}") for one in found)


def test_link_out_of_a_strangers_study_is_refused_and_not_followed(
    theirs: Path, elsewhere: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    canary = theirs.parent / "canary.txt"
    canary.write_text("secret of the auditor")
    for place in ("results/tables/mine.csv", "data/captions/mine.txt"):
        (theirs / place).symlink_to(canary)
        with opened_files() as opened:
            assert main(["audit", str(theirs / "results"), "--to", "out"]) == 2
            assert main(["remake", str(theirs / "results"), "--to", "anew"]) == 1
        assert "outside of the study, and was not opened" in capfd.readouterr().err
        assert str(canary) not in opened
        (theirs / place).unlink()


@pytest.mark.parametrize("name", ["../../tiny", "/tiny", "..", "a/b"])
def test_name_that_is_a_path_makes_no_study(
    name: str, theirs: Path, elsewhere: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def renamed(config: dict[str, Any]) -> None:
        config["models"][name] = config["models"]["tiny"]
        config["run"]["models"] = [name]

    change(theirs, renamed)
    assert main(["audit", str(theirs / "results"), "--to", "out"]) == 2
    assert f"'{name}' is a path, expected a name" in capfd.readouterr().err


def test_own_study_may_have_its_data_anywhere(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = shutil.copy(study / "data/demo/word_problems.jsonl", study.parent / "rows.jsonl")
    change(study, lambda config: NAMED["datasets.word-problems.file"](config, str(rows)))
    monkeypatch.chdir(study)
    assert [one for one in audit(Path("results")).findings if one.check == "paths"] == []


def test_own_study_is_run_again_also_where_the_present_configuration_has_another_judge(
    study: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(study)
    own = yaml.safe_load((study / "study.yaml").read_text())
    own["judges"] = {"later": {"kind": "heuristic"}}
    (study / "study.yaml").write_text(yaml.safe_dump(own))
    assert main(["audit", "results", "--rejudge", "3", *OWN]) == 0
    assert "3 random verdicts" in capfd.readouterr().out
