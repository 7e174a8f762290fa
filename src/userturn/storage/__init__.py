"""Files on disk: written whole, hashed, journalled, locked.

files.py: files written whole or not at all, with their identity; given files, folders, locks.
hashing.py: content hashes: equal content has equal fingerprints.
journal.py: append-only JSON lines with a checksum, one line per finished request.
journal_table.py: journals read as tables, one row per key.
leases.py: lets one job at a time work on a model's shard, and one run in a folder.
table_files.py: Parquet files, byte-equal for equal content, safe CSV, and the columns of keys.
"""
