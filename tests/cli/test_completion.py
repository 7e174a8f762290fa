"""Shells complete commands and options by what `userturn completion` prints."""

import subprocess
from pathlib import Path

import pytest

from userturn.cli.main import COMMANDS, main


def completed(script: Path, *words: str) -> set[str]:
    """Return what Bash offers for the last of the words of a command line."""
    line = " ".join(f"'{word}'" for word in ("userturn", *words))
    asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; _shtab_userturn"
    done = subprocess.run(
        ["bash", "-c", f'source "{script}"; {asked}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_bash_completes_commands_options_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out)
    assert completed(script, "") >= set(COMMANDS)
    assert completed(script, "rat") == {"rates"}
    assert {"--json", "--model", "--help"} <= completed(script, "rates", "--")
    monkeypatch.chdir(tmp_path)
    assert completed(script, "why", "compl") <= {"completion.bash"}


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_have_one_too(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in COMMANDS)
