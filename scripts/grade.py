"""Grade a model's answers to one dataset with the dataset's verifier."""

from userturn.grid import Grid
from userturn.judges import rubric_judge
from userturn.provenance import recorded
from userturn.verifiers import grade

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
