"""Bytes on disk: atomic files, Parquet, journals, hashes, locks, leases."""
