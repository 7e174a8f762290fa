"""Collect a model's scores of reference follow-ups, or of its own turns, from the journal."""

from userturn.likelihood.collect import collect_scores
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid
from userturn.study.scored_turns import ScoredTurns

if __name__ == "__main__":
    with recorded(snakemake):
        wildcards = snakemake.wildcards
        collect_scores(
            grid=Grid(snakemake.config),
            scored=ScoredTurns(wildcards.model, wildcards.dataset, wildcards.turns),
            path_to_scores=snakemake.output.scores,
        )
