"""Collect one depth of self-play from the journal."""

from userturn.generation.collect_self_play import collect_self_play
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.workflow.wildcards import depth_of

if __name__ == "__main__":
    with recorded(snakemake):
        collect_self_play(
            grid=Grid(snakemake.config),
            at=depth_of(snakemake.wildcards),
            path_to_conversations_before=snakemake.input.before,
            path_to_turns_before=snakemake.input.turns_before,
            path_to_conversations=snakemake.output.conversations,
            path_to_answers=snakemake.output.answers,
            path_to_user_turns=snakemake.output.user_turns,
        )
