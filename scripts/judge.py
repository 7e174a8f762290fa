"""Have one judge label every user turn of one cell."""

from userturn.judges.judge_cell import judge_cell
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.study.judge import judge_of

if __name__ == "__main__":
    with recorded(snakemake):
        judge_cell(
            judge=judge_of(Grid(snakemake.config), snakemake.wildcards.judge),
            identity=snakemake.params.identity,
            n_at_once=snakemake.resources.judge_requests,
            path_to_items=snakemake.input.dataset,
            path_to_user_turns=snakemake.input.user_turns,
            path_to_verdicts=snakemake.output.verdicts,
        )
