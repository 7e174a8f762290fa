"""Pack a finished study into one archive, without what must stay private.

checked.py: whether a file may leave: no withheld rows in it, no secret.
crate_context.py: who made a study, under which licence, with which code.
dataset_folder.py: a study's rows as a folder that `datasets` reads, or as a dataset on the hub.
every_eval_ever.py: a study's cells in the format of Every Eval Ever.
inspect_logs.py: a study's cells as logs of Inspect.
read_archive.py: opens an archive without trusting the names inside it.
ro_crate.py: describes a study as a Workflow Run RO-Crate.
secrets.py: finds keys and passwords by form or value, and never shows them.
withheld.py: rows that must not be exported, files that quote them, turns that may leave.
write_archive.py: `userturn export`: writes the archive.
make_again.py: makes tables, figures and the report again from what a study holds.
remake.py: `userturn remake`: everything after the verdicts, or with `--sweep` the whole study.
"""
