"""Make the tables of gains and identification of reference follow-ups and of own turns."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
