"""Take the project's own labelled user turns, for every judge to read."""

from userturn.controls.labelled_turns import take_labelled_turns
from userturn.provenance.job_record import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        take_labelled_turns(
            identity=snakemake.params.identity,
            path_to_labelled=snakemake.input.labelled,
            path_to_items=snakemake.output.dataset,
            path_to_user_turns=snakemake.output.user_turns,
        )
