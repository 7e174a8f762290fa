"""What the demo and a dry run print: what a run asks, the jobs of each rule, few jobs in full."""

import logging
import sys

from userturn.logs import sentence
from userturn.workflow.study import Study

UNSAID = ("Select jobs to execute", "Execute ")  # how messages begin that say nothing new
DETAILS = ("job_finished", "resources_info")


class ShortRun(logging.Filter):
    """Makes one line of a job's description, whose inputs alone may fill a screen."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a message is printed; a job's description is shortened."""
        event = getattr(record, "event", None)
        if event == "job_info":
            job = record.__dict__
            record.msg = " ".join([job["rule_name"], *dict(job["wildcards"]).values()])
            record.event = None  # so that Snakemake prints the message
        return event not in DETAILS and not str(record.msg).startswith(UNSAID)


def print_little() -> None:
    """Let Snakemake, in this process, print a line of each job."""
    logging.getLogger(SNAKEMAKE).addFilter(ShortRun())


SNAKEMAKE = "snakemake.logging"  # the logger of Snakemake
JOBS_LISTED = 30  # in ten lines each; the shipped grid has thousands
HINT = "`snakemake -n --verbose` lists every job with its inputs, outputs and reason.\n"


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
    from userturn.workflow.run_size import run_size  # polars: other runs do not need it

    try:
        told = run_size(study)
    except Exception as error:  # of a damaged file: the jobs are listed all the same
        told = f"what this run asks is not known: {sentence(error) or type(error).__name__}"
    print(told, file=sys.stderr)


def list_few_jobs(every: bool = False) -> None:
    """Let Snakemake, in this process, list the jobs of a dry run if they are few, or every job."""
    if every:
        return
    logging.getLogger(SNAKEMAKE).addFilter(FewJobs())
