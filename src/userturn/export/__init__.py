"""Pack a finished study into one archive, without what must stay private.

file_texts.py: every text in a file, also inside Parquet columns.
read_archive.py: opens an archive without trusting the names inside it.
ro_crate.py: describes a study as a Workflow Run RO-Crate.
secrets.py: finds keys and passwords by form or value, and never shows them.
signature.py: signs an archive with an SSH key and checks signatures.
withheld.py: private rows that must not be exported, and every file that quotes them.
write_archive.py: `userturn export`: writes the archive.
"""
