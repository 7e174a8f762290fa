"""Do what the table of jobs, `userturn.workflow.jobs`, says of this job's rule."""

from userturn.workflow.run_job import run_job

if __name__ == "__main__":
    run_job(snakemake)
