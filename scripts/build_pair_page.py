"""Write the page of a round of pairs for annotators."""

from userturn.humans.pair_page import build_pair_page
from userturn.provenance.job_record import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        build_pair_page(
            round_name=snakemake.wildcards.round,
            path_to_items=snakemake.input.blind,
            path_to_page=snakemake.output.page,
        )
