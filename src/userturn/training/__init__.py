"""Post-training of a base by a recipe."""
