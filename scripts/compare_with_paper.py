"""Put what the paper publishes beside what this study has."""

from userturn.anchors import compare_with_paper
from userturn.logs import log_to

if __name__ == "__main__":
    log_to(snakemake.log[0])
    compare_with_paper(
        paths_to_tables=dict(snakemake.input.items()),
        judge=snakemake.params.judge,
        identity=snakemake.params.identity,
        paths_to_anchors=snakemake.output.anchors,
    )
