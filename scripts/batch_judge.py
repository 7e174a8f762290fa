"""Ask a judge about every pending cell of it through the Batch API."""

from userturn.judges.batch_judge import fill_journal
from userturn.judges.pending_cells import judge_pending_cells
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.study.judge import judge_of

if __name__ == "__main__":
    with recorded(snakemake):
        judge_pending_cells(
            fill=fill_journal,
            judge=judge_of(Grid(snakemake.config), snakemake.wildcards.judge),
            pending=snakemake.params.pending,
            paths_to_user_turns=snakemake.input.user_turns,
            folder_of_items="results/datasets",
            path_to_marker=snakemake.output.marker,
        )
