"""Configuration files are merged, refused in a sentence, and keep what a study began with."""

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.cli.arguments import study_config
from userturn.config.check import check
from userturn.config.load import (
    FORMER,
    add_catalogue,
    catalogue,
    has_rubric_1,
    keep_own_rubric,
    load_config,
    load_study,
    note_run,
    read_config_file,
)
from userturn.errors import ConfigError
from userturn.judges.kinds import complete_judges

NAMES = "abcdefghijklmnopqrstu"  # the last stands for 2 ** 21 letters
BOMB = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}]\n" for old, new in pairwise(NAMES)
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("samples: 1\n".encode("utf-16"), "byte 0 is not UTF-8"),
        ("# caf\u00e9\n".encode("latin-1"), "byte 5 is not UTF-8"),
        (b"models:\n  a: x\n  b: y\n  a: z\n", "line 4: not YAML .the key 'a' is given twice"),
        (b"a: &a\n  b: *a\n", "an anchor contains itself"),
        (b"- a\n", "holds a list, expected keys"),
        (b"# all is commented out\n", "holds nothing, expected keys"),
        (b"a: [1\n", "line 2: not YAML"),
        (b"a: 2020-02-03\n", "line 1: not YAML .a timestamp, expected text.* quote the value"),
        (b"a: 1\nb: !!binary aGk=\n", "line 2: not YAML .a binary, expected text"),
        (b"a: -.inf\n", "line 1: not YAML .the number -inf is not finite"),
        (b"a: !!set {x, y}\n", "line 1: not YAML .a set, expected text"),
        (b"a: !!int x\n", "not YAML .invalid literal for int"),
        (
            b"runtime: 1:30:00\n",
            "line 1: not YAML .1:30:00 means 5400 in YAML, expected that number",
        ),
        (b"a: 0\nseed: 010\n", "line 2: not YAML .010 means 8 in YAML"),
        (b"models: {no: x}\n", "line 1: not YAML .the key no is False, expected text; quote it"),
        (b"models:\n  1.10: x\n", "line 2: not YAML .the key 1.10 is 1.1, expected text"),
        (b"answer:\n\tmax_tokens: 12\n", "line 2: not YAML .a tab, expected spaces"),
        (b"seed:3\n", "holds a text, expected keys"),
        (b"a: \0\n", "not YAML .unacceptable character"),
        (b"a: " + b"[" * 5000, "nested too deeply"),
        (b"__use_yte__: true\na: ?1 / 0\n", "found '__use_yte__', expected plain YAML"),
        (BOMB.encode(), "its anchors stand for over 1000000 values"),
    ],
)
def test_file_that_cannot_be_read_is_refused_in_one_sentence(
    content: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=said) as refused:
        load_config([path])
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'.*none.yaml' does not exist"):
        load_config([tmp_path / "none.yaml"])


def test_anchors_merge_keys_and_byte_order_marks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("\ufeffa: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: [*a, *a]\n", "utf-8")
    a = {"x": 1, "y": 2}
    assert load_config([path]) == {"a": a, "b": {"x": 1, "y": 3}, "c": [a, a]}


def test_what_a_hundred_anchors_name_is_read(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("a: &a [x, x]\nb: [" + "*a," * 100 + "]\n")
    assert load_config([path])["b"] == [["x", "x"]] * 100


IN_PAPER = ["gsm8k", "math500", "ifeval", "ifbench", "healthbench", "coval", "oasst_human"]


def test_config_and_catalogue_share_no_name_and_the_papers_datasets_are_in_config() -> None:
    assert list(read_config_file(ROOT / "config.yaml")["datasets"]) == IN_PAPER
    assert catalogue().keys() & {*IN_PAPER} == set()


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_dataset_of_the_catalogue_can_be_run(config: dict[str, Any], name: str) -> None:
    config["run"]["datasets"] = [name]
    add_catalogue(config)
    check(config)
    assert config["datasets"][name] == catalogue()[name]


def test_an_entry_without_a_file_changes_single_keys() -> None:
    config = {"run": {"datasets": ["mgsm"]}, "datasets": {"mgsm": {"limit": 20}}}
    add_catalogue(config)
    assert config["datasets"]["mgsm"] == catalogue()["mgsm"] | {"limit": 20}


def test_an_entry_of_ones_own_wins_over_one_of_that_name() -> None:
    mine = {"file": "data/mine.jsonl", "fields": {"prompt": "q"}, "verifier": "none"}
    config = {"run": {"datasets": ["mgsm"]}, "datasets": {"mgsm": mine}}
    add_catalogue(config)
    assert config["datasets"]["mgsm"] == mine


def test_a_run_of_all_datasets_is_of_those_of_the_configuration() -> None:
    config = {"run": {}, "datasets": {"own": {"file": "f"}}}
    add_catalogue(config)
    assert config["datasets"].keys() == {"own"}


def test_the_nearest_name_may_be_one_of_the_catalogue(config: dict[str, Any]) -> None:
    config["run"]["datasets"] = ["humanevall"]
    add_catalogue(config)
    with pytest.raises(ConfigError, match="'humanevall' is not defined, did you mean 'humaneval'"):
        check(config)


@pytest.mark.parametrize("part", [None, 3, ["mgsm"], {"datasets": {"mgsm": 1}}])
@pytest.mark.parametrize("datasets", [None, 3, {"mgsm": 3}])
def test_a_configuration_that_is_wrong_is_left_to_the_check(part: object, datasets: object) -> None:
    config = {"run": part, "datasets": datasets}
    add_catalogue(config)
    assert config["run"] == part
    assert not isinstance(datasets, dict) or config["datasets"]["mgsm"] == 3


def recorded(results: Path, *texts: str) -> Path:
    """Write the record of a study with some texts."""
    results.mkdir()
    content = {"contents": {"texts": dict.fromkeys(texts, "")}}
    (results / "study.json").write_text(json.dumps(content))
    return results


@pytest.mark.parametrize(
    ("text", "is_1"), [("data/rubric.yaml", True), ("data/rubric_2.yaml", False)]
)
def test_its_record_says_which_rubric_a_study_was_begun_with(
    text: str, is_1: bool, tmp_path: Path
) -> None:
    assert has_rubric_1(recorded(tmp_path / "results", text, "mine.yaml")) is is_1


def test_a_study_without_a_record_has_the_rubric_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name, is_1 in (("rubric.yaml", True), ("rubric_2.yaml", False)):
        (tmp_path / "data" / name).touch()
        assert has_rubric_1(tmp_path / "results") is is_1


def test_no_verdict_of_an_older_study_gets_another_identity_and_own_texts_stay(
    tmp_path: Path,
) -> None:
    config = load_config([ROOT / "config.yaml"])
    config["judges"]["own"] = {"kind": "scored", "model": "m", "rubric": "mine.yaml"}
    keep_own_rubric(config, recorded(tmp_path / "results", "data/rubric.yaml"))
    judges = complete_judges(config)
    named = {key: judges["gpt-5.4-mini"][key] for key in ("rubric", "prompt")}
    assert named == {"rubric": "data/rubric.yaml", "prompt": "data/judge_prompt.txt"}
    own = {key: judges["own"][key] for key in ("rubric", "prompt")}
    assert own == {"rubric": "mine.yaml", "prompt": "data/scored_prompt.txt"}
    assert "arguable" not in judges["heuristic"]


def test_a_study_with_rubric_2_is_left_alone(tmp_path: Path) -> None:
    config = load_config([ROOT / "config.yaml"])
    before = json.dumps(config)
    keep_own_rubric(config, recorded(tmp_path / "results", "data/rubric_2.yaml"))
    assert json.dumps(config) == before
    assert config["judges"]["heuristic"]["arguable"] is True


def test_every_text_that_an_older_study_keeps_is_there_beside_the_new_one() -> None:
    assert all((ROOT / path).is_file() for pair in FORMER.items() for path in pair)


def test_commands_take_the_files_of_the_last_run_here_unless_others_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy("config.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, seed in ("a", 5), ("b", 6):
        Path(f"{name}.yaml").write_text(f"seed: {seed}\n")
    shipped = study_config([])["seed"]
    note_run([Path("a.yaml").resolve()])
    assert (shipped, study_config([])["seed"], study_config(["b.yaml"])["seed"]) == (20260402, 5, 6)
    assert load_study()["seed"] == shipped  # by which nothing is authorised
    Path("a.yaml").unlink()
    assert study_config([])["seed"] == shipped
    Path("a.yaml").write_text("seed: 5\n")
    note_run([])
    assert study_config([])["seed"] == shipped
