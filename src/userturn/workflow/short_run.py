"""What a small run prints: a line for each job that begins, how many are done, and errors."""

import logging

from userturn.workflow.dry_run import SNAKEMAKE

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
