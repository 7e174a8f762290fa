"""results/report: headline, tables, explorer."""
