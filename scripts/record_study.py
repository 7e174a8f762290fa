"""Record the configuration and the content of every file that an identity depends on."""

from userturn.provenance.job_record import recorded
from userturn.study.record import record_study

if __name__ == "__main__":
    with recorded(snakemake):
        record_study(
            config=snakemake.config,
            identity=snakemake.params.identity,
            path_to_record=snakemake.output.record,
        )
