"""Have one judge label every user turn of one cell."""

from userturn.judging import judge
from userturn.logs import log_to

if __name__ == "__main__":
    log_to(snakemake.log[0])
    judge(
        name=snakemake.wildcards.judge,
        settings=snakemake.config["judges"][snakemake.wildcards.judge],
        identity=snakemake.params.identity,
        path_to_items=snakemake.input.dataset,
        path_to_user_turns=snakemake.input.user_turns,
        path_to_verdicts=snakemake.output.verdicts,
    )
