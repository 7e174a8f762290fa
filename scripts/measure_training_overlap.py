"""Count the evaluation items that occur in training data, exactly or nearly."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
