"""Collect the candidates of a model and dataset, or the user turns after them, from the journal."""

from userturn.generation.candidates import collect_candidates
from userturn.provenance.job_record import recorded
from userturn.study.candidates import CandidateTable
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        model, dataset = snakemake.wildcards.model, snakemake.wildcards.dataset
        collect_candidates(
            grid=Grid(snakemake.config),
            of=CandidateTable(model, dataset, snakemake.params.table),
            path=snakemake.output.candidates,
        )
