"""The command line says which commands there are, what each does, and which one was meant."""

from importlib import import_module
from importlib.metadata import version

import pytest

from userturn.cli.main import COMMANDS, main, parser


def test_help_has_a_line_for_each_command_as_its_module_says() -> None:
    said = " ".join(parser().format_help().split())
    for name in COMMANDS:
        module = import_module(f"userturn.cli.{name.replace('-', '_')}")
        assert f"{name} {module.HELP}" in said


def test_a_command_that_is_none_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["rate"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: 'rate' is not a command, did you mean 'rates'?\n"


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"userturn {version('userturn')}\n"
