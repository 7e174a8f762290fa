"""The grid of cells, what identifies each, and a study's record."""
