"""Collect the candidates of a model and dataset, or the user turns after them, from the journal."""

from userturn.generation.candidates import collect_candidates
from userturn.provenance.job_record import recorded
from userturn.sources.candidates import KINDS_OF_TABLES, CandidateTable
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        where = snakemake.wildcards
        kind = KINDS_OF_TABLES[snakemake.params.table]
        collect_candidates(
            grid=Grid(snakemake.config),
            of=CandidateTable(where.model, where.dataset, kind),
            path=snakemake.output.candidates,
        )
