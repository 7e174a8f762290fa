"""Check every row that annotators sent back for one round of pairs, and take all or none."""

from userturn.humans.import_pairs import import_pairs
from userturn.provenance.job_record import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        import_pairs(
            round_name=snakemake.wildcards.round,
            skip_problems=snakemake.params.skip_problems,
            identity=snakemake.params.identity,
            paths_to_files=snakemake.input.files,
            path_to_key=snakemake.input.key,
            path_to_annotations=snakemake.output.annotations,
        )
