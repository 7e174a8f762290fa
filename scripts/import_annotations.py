"""Check every row that annotators sent back for one round, and take all of them or none."""

from userturn.humans.import_labels import import_annotations
from userturn.provenance.job_record import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        import_annotations(
            round_name=snakemake.wildcards.round,
            skip_problems=snakemake.params.skip_problems,
            identity=snakemake.params.identity,
            paths_to_files=snakemake.input.files,
            path_to_key=snakemake.input.key,
            path_to_rubric=snakemake.input.rubric,
            path_to_annotations=snakemake.output.annotations,
        )
