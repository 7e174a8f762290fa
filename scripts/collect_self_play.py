"""Collect one depth of self-play from the journal."""

from userturn.generation.collect_self_play import collect_self_play
from userturn.provenance.job_record import recorded
from userturn.sources.self_play import Depth
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        where = snakemake.wildcards
        before, turns_before = snakemake.input.before
        collect_self_play(
            grid=Grid(snakemake.config),
            at=Depth(where.model, where.dataset, where.temperature, int(where.depth)),
            path_to_conversations_before=before,
            path_to_turns_before=turns_before,
            path_to_conversations=snakemake.output.conversations,
            path_to_answers=snakemake.output.answers,
            path_to_user_turns=snakemake.output.user_turns,
        )
