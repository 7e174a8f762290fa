"""Measure how far judges agree with people, and correct the judges' rates by what people say."""

from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.tables.compare_with_people import compare_with_people
from userturn.workflow.humans import HumanGrid

if __name__ == "__main__":
    with recorded(snakemake):
        compare_with_people(
            humans=HumanGrid(Grid(snakemake.config)),
            identity=snakemake.params.identity,
            paths_to_user_turns=snakemake.input.user_turns,
            paths_to_verdicts=snakemake.input.verdicts,
            paths_to_annotations=snakemake.input.annotations,
            paths_to_keys=snakemake.input.round_keys,
            paths_to_items=snakemake.input.blind,
            path_to_rubric=snakemake.input.rubric,
            paths_to_tables=dict(snakemake.output.items()),
        )
