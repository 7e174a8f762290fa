"""Grade a model's answers to one dataset with the dataset's verifier."""

from userturn.grading.verifiers import grade
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.study.judge import rubric_judge

if __name__ == "__main__":
    with recorded(snakemake):
        grade(
            verifier=snakemake.params.verifier,
            identity=snakemake.params.identity,
            n_processes=snakemake.threads,
            path_to_answers=snakemake.input.answers,
            path_to_items=snakemake.input.dataset,
            path_to_grades=snakemake.output.grades,
            judge=rubric_judge(Grid(snakemake.config), snakemake.wildcards.dataset),
            n_at_once=snakemake.resources.judge_requests,
        )
