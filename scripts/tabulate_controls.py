"""Count how many human turns each judge calls genuine and how many failures it catches."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
