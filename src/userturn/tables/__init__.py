"""One file a table of results/tables."""
