"""What a dry run prints: how many jobs each rule has, and the jobs themselves if they are few."""

import logging

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


def list_few_jobs() -> None:
    """Let Snakemake, in this process, list the jobs of a dry run only if they are few."""
    logging.getLogger(SNAKEMAKE).addFilter(FewJobs())
