"""The folder of a run or a new study: its lock, its jobs' former outputs, misleading names.

Snakemake removes a job's outputs before the job, so copies are kept in case the job fails. Empty
logs and the lock of a killed run are removed. One run at a time holds a lease on the folder. A file
with the name of a library is refused, since Python would import it in the library's place.
"""

import atexit
import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from datetime import date
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from userturn.config.load import INSTALLATION, installed
from userturn.errors import UserError
from userturn.logs import say
from userturn.storage.files import copy_folder
from userturn.storage.leases import (
    PATIENCE,
    PAUSE,
    LeaseError,
    active_leases,
    describe_owner,
    how_to_end,
    is_free,
    lease,
    rivals,
    watch,
)
from userturn.study.grid import Grid
from userturn.workflow.job_record import SWEEPS
from userturn.workflow.jobs import every_job

TEMPLATE = "data/new_study"  # Snakefile and config.yaml of a new study
COPIED = ("data", "profiles/default", "profiles/slurm")

EXAMPLE = 'study: {name: My study, date: "2026-04-02"}'  # in the template


def about(folder: Path) -> str:
    """Return the config's line with a new study's name, taken from its folder, and date."""
    return f'study: {{name: {json.dumps(folder.resolve().name)}, date: "{date.today()}"}}'


def check_is_new(folder: Path) -> None:
    """Check that a folder does not exist or is empty.

    Raises:
        UserError: it is a file, or not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"'{folder}' is not empty; expected a new folder: name another")


def write_study_folder(folder: Path) -> None:
    """Write the files of an example study into a new or empty folder.

    Files keep their times, so that texts older than results do not cause these to be made again.

    Raises:
        UserError: the folder is not empty or cannot be made, or the workflow is not installed.
    """
    check_is_new(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"'{folder}' cannot be made ({error.strerror}); name another") from error
    template = installed(TEMPLATE)
    for name in COPIED:
        copy_folder(installed(name), folder / name, template.name)
    copy_folder(template, folder)
    config = folder / "config.yaml"
    config.write_text(config.read_text("utf-8").replace(EXAMPLE, about(folder)), "utf-8")
    (folder / "results").mkdir()
    shutil.copyfile(installed("results/README.md"), folder / "results" / "README.md")
    (folder / "slurm").symlink_to("profiles/slurm")  # `snakemake --profile slurm` finds it there


FOLDER = Path(".snakemake")
DRIVER = "driver"  # the name of the lease, and of the folder that it is in
# Options of Snakemake with which it makes nothing, so that it may run beside a run.
LOOKS = {
    *("-n", "--dry-run", "--dryrun", "--summary", "-S", "--detailed-summary", "-D", "--dag"),
    *("--d3dag", "--rulegraph", "--filegraph", "--lint", "--report", "--archive", "--unlock"),
    *("--list-rules", "--list", "-l", "--list-target-rules", "--lt", "--list-changes", "--lc"),
}
_run_lease = ExitStack()  # the lease of this process's run
_runs: list[Path] = []  # the folder of that run


def only_looks(arguments: Iterable[str] = sys.argv) -> bool:
    """Return whether Snakemake is started with an option by which it makes nothing."""
    return not LOOKS.isdisjoint(argument.partition("=")[0] for argument in arguments)


def release_abandoned_lock(folder: Path = FOLDER) -> None:
    """Remove Snakemake's lock on a working directory if the run that took it has surely ended."""
    if (folder / DRIVER).is_dir() and is_free(folder / DRIVER, DRIVER):
        shutil.rmtree(folder / "locks", ignore_errors=True)


def take_folder(folder: Path = FOLDER, patience: float = PATIENCE) -> None:
    """Take the lease by which this process alone runs a study in a directory, until it ends.

    Snakemake's lock from a process that was killed, on whatever machine, is removed. It stays if no
    run has ever held this lease, since it then belongs to somebody else.

    Raises:
        UserError: another run is at work here.
    """
    try:
        folder.mkdir(exist_ok=True)
        had_runs = (folder / DRIVER).is_dir()
        for content in active_leases(folder / DRIVER).values():
            if not is_free(folder / DRIVER, DRIVER):
                print(
                    f"is the run of {describe_owner(content['owner'])} still at work in this "
                    f"folder? That takes up to {patience:.0f} s to see",
                    file=sys.stderr,
                )
        of_folder = folder / DRIVER, DRIVER, _stop_at_once
        _run_lease.enter_context(lease(*of_folder, patience=patience, minds_rivals=False))
    except PermissionError:  # another user's: Snakemake itself will refuse
        return
    except LeaseError as error:
        where = f"on {error.owner['node']}: `{how_to_end(error.owner)}`"
        raise UserError(
            f"'{folder.absolute().parent}' has a run of {describe_owner(error.owner)}, which is at "
            f"work; wait until it ends, or end it {where}, then run again"
        ) from error
    atexit.register(_run_lease.close)
    _runs.append(folder)
    if had_runs:
        shutil.rmtree(folder / "locks", ignore_errors=True)


def _stop_at_once(who: str) -> None:
    """End this process as a kill would, so that its jobs go on for the run that took over."""
    say(f"error: this run gave no sign of life for {PATIENCE:.0f} s and is ended by {who}")
    os._exit(1)


def is_alone() -> bool:
    """Return whether this process holds the lease to run a study here."""
    return bool(_runs)


def leave_to_others(grid: Grid, arguments: Sequence[str], patience: float = 3 * PAUSE) -> None:
    """End the program if another job that gives signs of life works on this job's sweep.

    Args:
        grid: the study's grid.
        arguments: Snakemake's arguments in a cluster's job, with `sweep:model=m,shard=1of1`.
        patience: seconds to wait for a sign of life.
    """
    for argument in arguments:
        rule, _, pairs = argument.strip("'").partition(":")
        wildcards = dict(pair.split("=", 1) for pair in pairs.split(",") if "=" in pair)
        if rule not in SWEEPS or {"model", "shard"} - wildcards.keys():
            continue
        folder = grid.leases_folder(wildcards["model"])
        for shard, owner in rivals(folder, wildcards["shard"]).items():
            if owner["job"] != os.environ.get("SLURM_JOB_ID") or owner["job"] is None:
                try:
                    watch(folder, shard, patience)
                except LeaseError as error:
                    sys.exit(f"error: {error}")


OWN = INSTALLATION / "tests"  # a package of the clone that has the name of some library


def shadowing(folder: Path) -> Path | None:
    """Return the path of a module in a folder that has the name of a library, or None."""
    elsewhere = [path for path in sys.path if Path(path).resolve() != folder.resolve()]
    packages = [path.parent for path in folder.glob("*/__init__.py")]
    for path in sorted([*folder.glob("*.py"), *packages]):
        name, is_own = path.stem, path.resolve() == OWN
        is_library = name in sys.stdlib_module_names or PathFinder.find_spec(name, elsewhere)
        if is_library and not is_own:
            return path
    return None


# Jobs on other nodes outlive a killed Snakemake, and may not have written to their logs yet.
ON_OTHER_NODES = {"sweep", "sweep_after_others", "serve_judge", "train", "slurm"}


def remove_empty_logs(logs: Path = Path("logs")) -> None:
    """Remove the empty logs of a run that has ended, but not `ON_OTHER_NODES`, and empty folders.

    Logs stay during a run: each job needs one, which Snakemake makes if the job did not.
    """
    if not is_alone():
        return
    for name, _, _ in os.walk(logs, topdown=False):
        folder = Path(name)
        if ON_OTHER_NODES.isdisjoint(folder.relative_to(logs).parts[:1]):
            for log in folder.glob("*.log"):
                if not log.stat().st_size:
                    log.unlink()
            with suppress(OSError):  # not empty
                folder.rmdir()


OUTPUT_LINKS = ".kept"  # folder of a study's results, exists only during a run


def keep_outputs(workflow: Any, results: Path) -> None:
    """Keep links to the present files of jobs that will run, except jobs without inputs.

    Outputs that a killed run kept are restored first.
    """
    restore_outputs(workflow, results)
    for job in workflow.dag.needrun_jobs():
        # For a job without inputs, nothing would tell later that its output is old.
        if job.rule.name in every_job() and len(job.input):
            for output in map(Path, job.output):
                if output.is_file():
                    _link(output, _link_path(output, results))


def restore_outputs(workflow: Any, results: Path) -> None:
    """Restore the outputs that jobs of this run removed and did not make, and remove the links.

    A failed job leaves metadata as if it had made its outputs. Without the metadata, and with a
    file dated 1970, Snakemake runs the job again until it succeeds.
    """
    if not (results / OUTPUT_LINKS).is_dir():
        return
    for output in [output for job in workflow.dag.jobs for output in job.output]:
        path, link = Path(output), _link_path(output, results)
        if link.is_file() and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.utime(link, (1, 1))  # a time of 0 means none to Snakemake
            link.rename(path)
            workflow.persistence.cleanup_metadata(output)
    shutil.rmtree(results / OUTPUT_LINKS, ignore_errors=True)


def _link_path(output: str | Path, results: Path) -> Path:
    return results / OUTPUT_LINKS / os.path.relpath(output, results)


def _link(output: Path, link: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # a file system without hard links keeps nothing
        link.hardlink_to(output)


NEEDED_OF_A_DISK = ("INPUT_OUTPUT", "PERSISTENCE", "SOURCES")  # storage that all jobs must share


def check_shared_disk(workflow: Any) -> None:
    """End the program if the jobs of an executor share no disk, as in a cloud.

    A sweep's journal and lease are on that disk, so without it each retry would ask all again.
    """
    shared = {one.name for one in workflow.storage_settings.shared_fs_usage}
    missing = [name for name in NEEDED_OF_A_DISK if name not in shared]
    if missing:
        sys.exit(
            "error: the jobs of this run share no disk (--shared-fs-usage leaves out "
            f"{missing[0].lower().replace('_', '-')}), on which journals and leases are; expected "
            "one that all jobs see: use a cluster with a shared file system, or run on one machine "
            "and name models that have an `endpoint` (docs/deployment.md)"
        )
