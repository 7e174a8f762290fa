"""The configuration: read, merged, checked; entries of models, datasets, judges; recipes."""
