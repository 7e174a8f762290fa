"""The command line says which commands there are, what each does, and which one was meant."""

import argparse
import json
import shlex
import sys
from importlib import import_module
from importlib.metadata import version
from types import ModuleType, SimpleNamespace

import polars as pl
import pytest

from userturn import __main__ as program
from userturn.cli import main as command_line
from userturn.cli.main import COMMANDS, FIRST_STEPS, main, parser
from userturn.cli.terminal import Output
from userturn.logs import say


def module_of(name: str) -> str:
    return f"userturn.cli.{name.replace('-', '_')}"


def test_help_has_a_line_for_each_command_as_its_module_says() -> None:
    said = " ".join(parser().format_help().split())
    for name in COMMANDS:
        assert f"{name} {import_module(module_of(name)).HELP}" in said


def test_the_help_of_all_commands_ends_in_examples_that_they_take() -> None:
    for example in FIRST_STEPS[:-1]:
        words = shlex.split(example)
        assert parser(words[:1]).parse_args(words).command == words[0]
    assert parser().format_help().endswith("  userturn rates --help\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_ends_in_examples_that_the_command_takes(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = import_module(module_of(name)).EXAMPLES
    for example in examples:
        assert parser([name]).parse_args(shlex.split(example)).command == name
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    lines = [f"  userturn {example}" for example in examples]
    assert capsys.readouterr().out.splitlines()[-len(lines) - 1 :] == ["examples:", *lines]


def test_a_command_that_is_none_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["rate"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: 'rate' is not a command, did you mean 'rates'?\n"


def test_without_a_command_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert capsys.readouterr().out == parser().format_help()


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"userturn {version('userturn')}\n"


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command `status` that says something, finds one number and ends with 3."""

    def run(arguments: argparse.Namespace) -> Output:
        say("at work")
        return Output(["one row"], {"rows": pl.DataFrame({"n": [1]})}, code=3)

    module = SimpleNamespace(add_arguments=lambda _: None, run=run, EXAMPLES=("status",))
    monkeypatch.setitem(sys.modules, "userturn.cli.status", module)
    monkeypatch.setattr(command_line, "import_module", sys.modules.__getitem__)


def test_an_output_is_its_parts_for_a_person(
    counting: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status"]) == 3
    assert tuple(capsys.readouterr()) == ("one row\n", "at work\n")


def test_an_output_is_its_numbers_alone_for_a_program(
    counting: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--json"]) == 3
    told = capsys.readouterr()
    assert json.loads(told.out) == {"rows": [{"n": 1}]}
    assert told.err == "at work\n"


def test_a_sentence_of_a_command_with_numbers_is_json_as_well(
    counting: None, capsys: pytest.CaptureFixture[str]
) -> None:
    sys.modules["userturn.cli.status"].__dict__["run"] = lambda _: "nothing to do"
    assert main(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"said": "nothing to do"}


def test_a_command_that_is_interrupted_says_so_in_a_line(
    counting: None, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(arguments: argparse.Namespace) -> None:
        raise KeyboardInterrupt

    sys.modules["userturn.cli.status"].__dict__["run"] = interrupted
    assert main(["status"]) == 130
    assert capsys.readouterr().err.count("\n") == 1


def test_an_interrupt_while_modules_load_is_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    unready = ModuleType("userturn.cli.main")
    unready.__dict__["__getattr__"] = interrupted
    monkeypatch.setitem(sys.modules, "userturn.cli.main", unready)
    assert program.main() == 130
    assert capsys.readouterr().err.count("\n") == 1
