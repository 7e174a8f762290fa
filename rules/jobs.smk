"""The rules of the table of jobs, `userturn.workflow.jobs`, which says what each makes from what."""

from userturn.workflow.jobs import every_job

RULES = {name: job for name, job in every_job().items() if job.outputs}
for name, job in RULES.items():

    rule:
        name:
            name
        input:
            **of_study(job.inputs),
        output:
            **marked(job.outputs),
        log:
            job.log(name),
        wildcard_constraints:
            **job.wildcards,
        localrule: True
        conda:
            f"../envs/{job.environment}.yaml"
        threads: job.n_threads
        resources:
            **of_study({"judge_requests": job.n_requests} if job.n_requests else {}),
        params:
            **of_study(job.params),
        script:
            "../scripts/run_job.py"


describe_rules(every_job())
