"""Pack a finished study into one archive, without what must stay private.

checked.py: whether a file may leave: no withheld rows in it, no secret.
crate_context.py: who made a study, under which licence, with which code.
dataset_folder.py: a study's rows as a folder that Hugging Face's `datasets` reads.
every_eval_ever.py: a study's cells in the format of Every Eval Ever.
file_texts.py: every text in a file, also inside Parquet columns.
hub.py: a study's open rows as a dataset on the hub.
inspect_logs.py: a study's cells as logs of Inspect.
open_turns.py: the user turns that may leave a study.
read_archive.py: opens an archive without trusting the names inside it.
ro_crate.py: describes a study as a Workflow Run RO-Crate.
secrets.py: finds keys and passwords by form or value, and never shows them.
unpacked_tables.py: how much the tables of a study hold, before they are read.
verify.py: `VERIFY.md`: an archive's digest and three numbers by standard tools.
withheld.py: private rows that must not be exported, and every file that quotes them.
write_archive.py: `userturn export`: writes the archive.
make_again.py: makes tables, figures and the report again from what a study holds.
remake.py: `userturn remake`: everything after the verdicts, in order, and which files are equal.
sweep_again.py: `userturn remake --sweep`: the study run again from nothing.
"""
