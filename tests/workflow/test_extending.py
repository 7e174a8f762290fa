"""What docs/extending.md says of each extension is enough: it is done in a scratch copy."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.snakemake_runs import ROOT, copy_project, run

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project with a library of its own, so that files of it can change."""
    copy_project(tmp_path / "project")
    (tmp_path / "project" / "src").unlink(missing_ok=True)
    subprocess.run(["cp", "-r", str(ROOT / "src"), str(tmp_path / "project" / "src")], check=True)
    return tmp_path / "project"


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert text.count(before) == 1, (path, before)
    path.write_text(text.replace(before, after))


def python(project: Path, code: str) -> str:
    """Return what a program prints that imports the copy's library."""
    environment = os.environ | {"PYTHONPATH": f"{project / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, env=environment, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


STUDY = """
from userturn.config.load import load_config
from userturn.workflow.startup import checked_study
config = load_config(['config.yaml'])
config['run'] = {'models': ['glm-4.7'], 'datasets': ['gsm8k']}
def identity(config):
    return checked_study(config).grid.answers_identity('glm-4.7', 'gsm8k')
"""


def test_a_slurm_setting_is_one_row_and_one_default(project: Path) -> None:
    ask = STUDY + "print(identity(config))"
    before = python(project, ask)
    change(
        project / "src/userturn/config/job_resources.py",
        "\nSETTINGS = {\n",
        """
SETTINGS = {
    "reservation": Setting(
        {"type": "string", "description": "Nodes that are kept for it."},
        EVERY,
        {"reservation": lambda entry, attempt: str(entry["reservation"])},
    ),
""",
    )
    change(project / "config.yaml", "\nmodel_defaults:\n", "\nmodel_defaults:\n  reservation: ''\n")
    assert python(project, ask) == before  # no identity changes
    asked = python(
        project,
        STUDY
        + """
config['models']['glm-4.7'] = {**config['models']['glm-4.7'], 'reservation': 'mine'}
study = checked_study(config)
class Job: model = 'glm-4.7'
print(study.generation.resources.functions()['reservation'](Job, 1))
from userturn.slurm.submission import job_options
print(job_options({}, 'sweep', study.grid.models['glm-4.7'], 1)['--reservation'])
""",
    )
    assert asked.splitlines() == ["mine", "mine"]


def test_a_verifier_is_one_file(project: Path) -> None:
    (project / "src/userturn/grading/shouted.py").write_text(
        '''"""The verifier `shouted`: an answer in capitals is right."""

from userturn.grading.grade import Grade


def verify(cases, n_processes=1):
    return [Grade(case.answer.isupper()) for case in cases]
'''
    )
    said = python(
        project,
        STUDY
        + """
config['datasets']['gsm8k']['verifier'] = 'shouted'
checked_study(config)
from userturn.grading.grade import grade_answers
row = {'outcome': 'ok', 'reference_answer': None, 'verifier_arguments': None,
       'messages': [{'content': 'Q'}]}
print([g.correct for g in grade_answers('shouted', [row | {'answer': a} for a in ('A', 'a')])])
config['datasets']['gsm8k']['verifier'] = 'shoutd'
try:
    checked_study(config)
except Exception as error:
    print(error)
""",
    )
    first, second = said.splitlines()
    assert first == "[True, False]"
    assert second.startswith("datasets.gsm8k.verifier: found 'shoutd', expected one of: none, ")


def test_a_perturbation_operator_is_one_function_and_one_entry(project: Path) -> None:
    file = project / "src/userturn/prompts/perturbations.py"
    file.write_text(
        file.read_text()
        + '''

@operator()
def exclaim(
    context: Context, tokenizer: Tokenizer, *, marks: Annotated[int, {"type": "integer"}]
) -> Context:
    """End the answer in exclamation marks."""
    return replace(context, answer=(context.answer or "") + "!" * marks, change={"marks": marks})
'''
    )
    entry = "\nperturbations:\n  shouted: {operator: exclaim, marks: 3}\n"
    change(project / "config.yaml", "\nperturbations:\n", entry)
    said = python(
        project,
        STUDY
        + """
config['run']['perturbations'] = ['none', 'shouted']
print(checked_study(config).grid.perturbations['shouted'])
config['perturbations']['shouted']['marks'] = 'many'
try:
    checked_study(config)
except Exception as error:
    print(error)
""",
    )
    first, second = said.splitlines()
    assert first == "{'operator': 'exclaim', 'marks': 3}"
    assert second.startswith("perturbations.shouted.marks: found 'many', expected a whole number")


def test_a_command_is_one_file_and_one_name(project: Path) -> None:
    (project / "src/userturn/cli/greet.py").write_text(
        '''"""`userturn greet`: says hello."""

HELP = "say hello"


def add_arguments(parser):
    parser.add_argument("name")


EXAMPLES = ("greet you",)


def run(arguments):
    return f"hello {arguments.name}"
'''
    )
    change(project / "src/userturn/cli/main.py", "COMMANDS = (\n", 'COMMANDS = (\n    "greet",\n')
    call = "from userturn.cli.main import main; main({})"
    assert python(project, call.format(["greet", "you"])) == "hello you\n"
    listed = "from userturn.cli.main import parser; print(parser().format_help())"
    assert "say hello" in python(project, listed)


def audited(study: Path) -> str:
    """Return what an audit by the copy's library says, findings or none."""
    environment = os.environ | {"PYTHONPATH": f"{study / 'src'}{os.pathsep}{ROOT}"}
    command = [
        sys.executable,
        "-c",
        "from userturn.cli.main import main; main(['audit', 'results'])",
    ]
    done = subprocess.run(command, cwd=study, env=environment, text=True, capture_output=True)
    return done.stdout + done.stderr


def test_a_table_and_a_figure_are_a_file_each(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["cp", "-r", str(ROOT / "src"), str(study / "src")], check=True)
    module = study / "src/userturn/tables/coverage.py"
    shutil.copy(ROOT / "tests/support/coverage_table.py", module)
    figure = ROOT / "tests/support/turns_figure.py"
    shutil.copy(figure, study / "src/userturn/figures/turns.py")

    monkeypatch.setenv("PYTHONPATH", f"{study / 'src'}{os.pathsep}{ROOT}")
    run(study)
    results = study / "results"
    assert (results / "tables/coverage.csv").read_text().startswith("judge,n_turns,n_scored\n")
    printed = [(results / f"tables/coverage.{end}").read_text() for end in ("md", "tex")]
    assert all("scored" in text for text in printed)
    assert (results / "figures/turns.svg").read_text().startswith("<svg")
    page = (results / "report/index.html").read_text()
    assert '"title":"Coverage"' in page and "How many turns each judge gave a verdict on." in page
    assert "Turns of each cell." in page
    assert "no finding" in audited(study)

    change(module, ".sum())", ".max())")
    (results / "figures/turns.svg").unlink()
    said = audited(study)
    assert "results/tables/coverage.parquet" in said and "results/figures/turns.svg" in said
