"""Put the turns of one cell in the order of the draw, and mark the wanted ones."""

from userturn.humans.sample import sample_for_humans
from userturn.provenance.job_record import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        sample_for_humans(
            settings=snakemake.config["humans"],
            seed=snakemake.config["seed"],
            identity=snakemake.params.identity,
            path_to_user_turns=snakemake.input.user_turns,
            path_to_verdicts=snakemake.input.verdicts,
            path_to_human_sample=snakemake.output.human_sample,
        )
