"""Pack a finished study into one archive, without what must stay private.

dataset_folder.py: a study's rows as a folder that `datasets` reads, or as a dataset on the hub.
every_eval_ever.py: a study's cells in the format of Every Eval Ever.
inspect_logs.py: a study's cells as logs of Inspect.
read_archive.py: opens an archive without trusting the names inside it.
ro_crate.py: describes a study as a Workflow Run RO-Crate.
secrets.py: finds keys and passwords by form or value, and never shows them.
withheld.py: what may leave a study: no withheld rows, no file that quotes them, no secret.
write_archive.py: `userturn export`: writes the archive.
remake.py: `userturn remake`: everything after the verdicts, or with `--sweep` the whole study.
"""
