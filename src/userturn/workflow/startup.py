"""How a run begins: its lock, its configuration, its study, and what a dry run prints."""

import argparse
import gc
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from platformdirs import user_cache_path

from userturn.config.entries import Config
from userturn.config.families import repeat_trainings
from userturn.config.load import (
    add_catalogue,
    config_files,
    keep_own_detector,
    keep_own_rubric,
    note_run,
    read_config_file,
)
from userturn.errors import (
    ConfigError,
    UserError,
    forget_errors,
    near_miss,
    sentence,
    write_trouble,
)
from userturn.processes import let_early_warning_pass
from userturn.sources.registry import check_study, sources
from userturn.study.annotation_files import files_of_no_round
from userturn.study.grid import Grid
from userturn.wording import number_of
from userturn.workflow.downloads import too_large
from userturn.workflow.nearest_target import SNAKEMAKE, tell_nearest_target
from userturn.workflow.run_folder import (
    check_shared_disk,
    is_alone,
    keep_outputs,
    leave_to_others,
    release_abandoned_lock,
    remove_empty_logs,
    restore_outputs,
    shadowing,
    take_folder,
)
from userturn.workflow.study import Study

SETTING = r"[a-zA-Z_][\w-]*\w="  # what Snakemake takes in --config
NAMED = ("dataset", "perturbation", "judge", "round")
OBJECTS_BETWEEN_COLLECTIONS = 20_000  # Python's own threshold is 700
DEFAULT_GC = "USERTURN_DEFAULT_GC"  # set to 1, it keeps Python's garbage collection as it is
UNSAID = (  # how messages begin that say nothing of a study
    *("Select jobs to execute", "Execute ", "Config file ", "Assuming ", "Building DAG"),
    *("Using shell", "Conda environments"),
)
DETAILS = ("job_info", "job_finished", "resources_info")
N_PROGRESS_LINES = 5  # of a run, each in a line as it is done
JOBS_LISTED = 30  # in ten lines each; the shipped grid has thousands
HINT = "`snakemake -n --verbose` lists every job with its inputs, outputs and reason.\n"
WILDCARDS = (
    dict.fromkeys(NAMED, r"[a-z0-9][a-z0-9._-]*")
    | {
        "model": r"[a-z0-9][a-z0-9._+-]*",  # also in another format, model+format
        "temperature": r"[0-9.]+",
        "shard": r"\d+of\d+",
        "turns": r"[a-z_]+",
    }
    | {name: form for source in sources().values() for name, form in source.wildcards.items()}
)


class ShortRun(logging.Filter):
    """Lets pass how many jobs there are, a line as each fifth of them is done, and what goes wrong.

    What a sweep says of its requests comes from the sweep itself.
    """

    n_parts = 0  # that were said
    is_counted = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a message is printed; the table of all jobs becomes a line."""
        event, fields = getattr(record, "event", None), record.__dict__
        if event == "run_info":
            if self.is_counted:  # a dry run counts its jobs at its end, too
                return False
            self.is_counted = True
            n_jobs, n_rules = fields["stats"]["total"], len(fields["stats"]) - 1
            record.msg = f"{number_of(n_jobs, 'job')} of {number_of(n_rules, 'rule')}"
            record.event = None  # so that Snakemake prints the message
        if event == "progress":
            n_parts = N_PROGRESS_LINES * fields["done"] // fields["total"]
            is_new, self.n_parts = bool(n_parts > self.n_parts), n_parts
            return is_new
        return event not in DETAILS and not str(record.msg).startswith(UNSAID)


def print_little() -> None:
    """Let Snakemake, in this process, print a few lines of a run."""
    logging.getLogger(SNAKEMAKE).addFilter(ShortRun())


class FewJobs(logging.Filter):
    """Lets the jobs of a dry run pass if the table that comes before them counts few."""

    n_jobs = 0  # until that table is printed

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a message is printed; a table of many jobs gets a hint below it."""
        event = getattr(record, "event", None)
        if event == "run_info" and not self.n_jobs:
            self.n_jobs = record.__dict__["stats"]["total"]
            if self.n_jobs > JOBS_LISTED:
                record.msg = f"{record.msg}{HINT}"
            return True
        return self.n_jobs <= JOBS_LISTED or event not in ("job_info", "run_info")


def print_run_size(study: Study) -> None:
    """Print what a run asks of models and judges."""
    from userturn.workflow.study_size import run_size  # polars: other runs do not need it

    try:
        told = run_size(study)
    except Exception as error:  # of a damaged file: the jobs are listed all the same
        told = f"what this run asks is not known: {sentence(error) or type(error).__name__}"
    print(told, file=sys.stderr)


def list_few_jobs() -> None:
    """Let Snakemake, in this process, list the jobs of a dry run only if they are few."""
    logging.getLogger(SNAKEMAKE).addFilter(FewJobs())


def _collect_garbage_rarely() -> None:
    """Collect garbage more rarely: imported modules and planned jobs nearly all stay to the end.

    With Python's own settings, planning 3,336 jobs takes 29 % more CPU time: a median of 9.3
    instead of 7.2 seconds, and over the promised 10 in two runs of four. To turn this off, set the
    environment variable USERTURN_DEFAULT_GC=1.
    """
    if os.environ.get(DEFAULT_GC) == "1":
        return
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)


def check_given_config_files(arguments: Iterable[str] | None = None) -> None:
    """End the program in a sentence if a configuration that a Snakemake command gives is broken.

    `profiles/default` calls this, since before any Snakefile Snakemake opens the files of
    `--configfile`, reads `--config` and makes a folder in the home, and may fail in a traceback.
    From then on modules are imported from the Snakefile's folder first. The arguments are those of
    this process, if no others are given.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", type=Path, default=[])
    parser.add_argument("--config", "-C", nargs="*", default=[])
    parser.add_argument("--directory", "-d")  # Snakemake goes there later
    parser.add_argument("--snakefile", "-s", type=Path, default=Path("Snakefile"))
    options, _ = parser.parse_known_args(arguments)
    if (path := shadowing(options.snakefile.parent)) is not None:
        sys.exit(
            f"error: '{path}' has the name of a Python library, and would be run in its place "
            "wherever userturn needs that; rename it, or move it out of this folder"
        )
    own = [] if options.directory else config_files()
    _check_config_files([*own, *options.configfile])
    for setting in options.config:
        if not re.match(SETTING, setting):
            sys.exit(
                f"error: --config: found '{setting}', expected a key of the "
                "configuration and its value, as in seed=1 or 'answer={max_tokens: 9}'"
            )
    cache = user_cache_path("snakemake", "snakemake")
    _check_folder(cache, "XDG_CACHE_HOME")
    scratch = Path(os.environ.get("TMPDIR") or gettempdir())
    if scratch.is_dir():  # else another is taken
        _check_folder(scratch, "TMPDIR")


def _check_folder(folder: Path, variable: str) -> None:
    """End the program in a sentence if Snakemake could not write into one of its folders."""
    cure = f"set {variable} to a folder that can be written"
    if trouble := write_trouble(folder, cure):
        sys.exit(f"error: Snakemake {trouble}")


def _check_config_files(paths: Iterable[str | Path]) -> None:
    try:
        for path in paths:
            read_config_file(Path(path))
    except ConfigError as error:
        sys.exit(f"error: {error}")


def begin(configfiles: Iterable[str | Path], is_driver: bool, looks: bool = False) -> None:
    """Prepare a Snakemake process: check its config files, handle its lock or early warning.

    The main process takes the folder for its run, unless it only looks. The process inside a
    cluster's job must survive the signal that tells its sweep to finish. If a file cannot be read,
    or another run is at work, the program ends and says why.
    """
    _collect_garbage_rarely()
    if is_driver:
        try:
            release_abandoned_lock() if looks else take_folder()
        except (OSError, UserError) as error:
            sys.exit(f"error: {sentence(error) or error}")
        if is_alone():
            forget_errors()
    else:
        let_early_warning_pass()
    _check_config_files(configfiles)


def call_around_jobs(
    workflow: Any, study: Study, stand_between: Callable[[Any, Grid, Iterable[str]], None]
) -> None:
    """Have Snakemake do what comes before the first job of a study, and after its last.

    `stand_between` has jobs pass a gate (`slurm.driver`).
    Of a workflow that a study's own Snakefile takes as a module, Snakemake leaves out `onstart`,
    `onsuccess` and `onerror`. So these functions are put before the handlers that it has by now.
    """

    def begin() -> None:
        study.begin()
        if workflow.is_main_process:
            described = {j for j in workflow.dag.needrun_jobs() if j.rule.name == "describe_model"}
            if lacks_room := too_large(study.grid, {job.wildcards.model for job in described}):
                sys.exit(f"error: {lacks_room}")
            note_run(workflow.overwrite_configfiles)
            try:
                stand_between(workflow, study.grid, study.generation.in_doubt)
            except UserError as error:
                sys.exit(f"error: {error}")
        if is_alone():
            keep_outputs(workflow, study.grid.results)

    def finish() -> None:
        if is_alone():
            restore_outputs(workflow, study.grid.results)
            remove_empty_logs()

    for name, act in (("_onstart", begin), ("_onsuccess", finish), ("_onerror", finish)):
        setattr(workflow, name, partial(_call_both, act, getattr(workflow, name)))


def _call_both(act: Callable[[], None], handler: Callable[[Any], None], log: Any) -> None:
    act()
    handler(log)


def prepare(study: Study, workflow: Any) -> None:
    """Do what comes before Snakemake looks at a study's files.

    Labels that nobody reads are named. A dry run says what a run would ask. A run puts aside the
    markers of sweeps that have to be done again, if it is the only one here. The process inside a
    cluster's job ends, before it does anything, if another job works on the same sweep.
    """
    keep_private(study)
    check_shared_disk(workflow)
    if workflow.is_main_process:
        _name_unread_labels(study)
        tell_nearest_target(study, workflow)
    else:
        leave_to_others(study.grid, sys.argv)
    if workflow.output_settings.dryrun:
        print_run_size(study)
        if not workflow.output_settings.verbose:
            list_few_jobs()
    elif workflow.is_main_process and is_alone():
        study.generation.void_markers()


def _name_unread_labels(study: Study) -> None:
    rounds = [*study.humans.rounds, *study.pairs.rounds]
    for path in files_of_no_round(rounds):
        near = near_miss(Path(path).name, rounds)
        print(
            f"'{path}' is not read: expected a folder named as a round of humans.rounds{near}",
            file=sys.stderr,
        )


def check_results(results: Path) -> None:
    """Check that a study can write its results.

    Raises:
        ConfigError: their folder is a file, may not be written, or is a link that leads nowhere.
    """
    is_there = results.exists() or results.is_symlink()  # also one that leads nowhere
    if is_there and not (results.is_dir() and os.access(results, os.W_OK | os.X_OK)):
        raise ConfigError(
            f"'{results}' is not a writable folder; change its owner or mode, or run in "
            "another copy of the project"
        )


def checked_study(config: Config) -> Study:
    """Return the study of a configuration.

    Raises:
        UserError: the configuration cannot be run.
    """
    check_study(config)
    return Study(Grid(config))


def keep_private(study: Study) -> None:
    """Let nobody else of this machine read what is written, if a dataset's rows are private."""
    if study.grid.private_datasets:
        os.umask(0o077)


def open_study(config: Config) -> Study:
    """Return the study of a configuration, or end the program with one sentence.

    The catalogue's datasets are added in place, and what the study keeps: Snakemake gives
    its jobs this configuration.
    """
    try:
        add_catalogue(config)
        repeat_trainings(config)
        keep_own_rubric(config)
        keep_own_detector(config)
        study = checked_study(config)
        check_results(study.grid.results)
        study.pending.tables  # noqa: B018  this finds missing sources
    except Exception as error:
        message = sentence(error)
        if message is None:
            raise
        sys.exit(f"error: {message}")
    return study
