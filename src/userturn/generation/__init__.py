"""Answers and user turns of a model: shards, plans, sweep, journal, gathering."""
