"""Compare each rate with the rate of the same turns after other items' answers."""

from userturn.tables.make_tables import make_tables_of_job

if __name__ == "__main__":
    make_tables_of_job(snakemake)
