"""Take the real user turns of a dataset, each after the answer that it reacts to."""

from userturn.controls.human_turns import take_human_turns
from userturn.provenance.job_record import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        take_human_turns(
            dataset=snakemake.wildcards.dataset,
            identity=snakemake.params.identity,
            path_to_items=snakemake.input.dataset,
            path_to_user_turns=snakemake.output.user_turns,
        )
