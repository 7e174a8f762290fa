"""Count one cell's outcomes and verdicts, one row a judge."""

from userturn.logs import log_to
from userturn.tabulating import summarise

if __name__ == "__main__":
    log_to(snakemake.log[0])
    summarise(
        identity=snakemake.params.identity,
        path_to_user_turns=snakemake.input.user_turns,
        paths_to_verdicts=snakemake.input.verdicts,
        seed=snakemake.config["seed"],
        n_resamples=snakemake.config["statistics"]["resamples"],
        path_to_summary=snakemake.output.summary,
    )
