"""Replace the answer before some user turns of each cell by another item's."""

from userturn.controls.swapped_answers import swap_answers
from userturn.provenance.job_record import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        swap_answers(
            dataset=snakemake.wildcards.dataset,
            n_turns=snakemake.config["controls"]["chance_floor"],
            seed=snakemake.config["seed"],
            identity=snakemake.params.identity,
            paths_to_user_turns=snakemake.input.user_turns,
            path_to_items=snakemake.input.dataset,
            path_to_swapped=snakemake.output.user_turns,
        )
