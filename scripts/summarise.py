"""Count one cell's outcomes and verdicts, one row per judge."""

from userturn.provenance.job_record import recorded
from userturn.tables.rates import summarise

if __name__ == "__main__":
    with recorded(snakemake):
        summarise(
            identity=snakemake.params.identity,
            path_to_user_turns=snakemake.input.user_turns,
            paths_to_verdicts=snakemake.input.verdicts,
            path_to_summary=snakemake.output.summary,
        )
