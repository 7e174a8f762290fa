"""Intervals, tests and estimators as plain functions of arrays."""
