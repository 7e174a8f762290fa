"""Put what the paper publishes beside what this study has."""

from userturn.provenance.job_record import recorded
from userturn.tables.paper_comparison import compare_with_paper

if __name__ == "__main__":
    with recorded(snakemake):
        compare_with_paper(
            paths_to_tables=dict(snakemake.input.items()),
            judge=snakemake.params.judge,
            identity=snakemake.params.identity,
            paths_to_anchors=snakemake.output.anchors,
        )
