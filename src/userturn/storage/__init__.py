"""Files on disk: written whole, hashed, journalled, locked.

atomic_files.py: files that are written whole or not at all, with their identity.
copied_folder.py: copies of folders that their owner may change.
csv_cells.py: texts in CSV files that no spreadsheet takes for a formula.
given_files.py: text and JSON files that a user gave.
hashing.py: content hashes: equal content has equal fingerprints.
journal.py: append-only JSON lines with a checksum, one line per finished request.
journal_table.py: journals read as tables, one row per key.
key_columns.py: the columns that identify a row of each kind.
leases.py: lets one job at a time work on a model's shard.
listed_paths.py: all that is in a folder.
locks.py: locks between processes of one host.
parquet.py: Parquet files, byte-equal for equal content.
"""
