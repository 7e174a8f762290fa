"""Do what the table of jobs, `userturn.workflow.jobs`, says of this job's rule."""

import gc

if __name__ == "__main__":
    gc.disable()  # until `run_job` has loaded the job's modules, which all stay

    from userturn.workflow.run_job import run_job

    run_job(snakemake)
