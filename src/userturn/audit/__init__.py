"""Check a finished study from its folder alone.

Checks take `files`, the files of a results folder; `wanted`, the artifacts that the study's
configuration asks for, with identities; `broken`, those already found missing or altered, which
are not compared; `pair`, a model and dataset; `of`, a table that requests fill.

audit.py: the result of an audit: what was found, and what became of each artifact.
check_documents.py: are a study's description of its files, and its claims, this version's?
check_files.py: does every file exist, unchanged, and made from the present inputs?
check_journals.py: does every journal begin with what jobs recorded of it, and end there?
check_markers.py: do markers of sweeps and judging say what was planned?
check_probes.py: does every probe show the model's own answer, changed as its perturbation says?
check_prompts.py: do prompts and texts follow from the model's own tokenizer and template?
check_records.py: does every record belong to the job that its path names?
check_replay.py: does every job that needs no model make the same again?
check_reruns.py: do requests that are run again give the same result?
check_rounds.py: are turns and pairs for people those that samples give, shown as written?
check_rows.py: does every answer, user turn and score match its plan and its journal?
check_secrets.py: does any file contain a key or password?
check_settings.py: does a study have what its configuration asks for, inside of it?
check_sources.py: do datasets and local models follow from their source files?
check_training.py: does the record of a training say what its checkpoint, data and recipe say?
check_verdicts.py: does every verdict, grade and count match its source?
checks.py: what each check finds, and what some of them need.
findings.py: one finding: artifact, expected, found, and how to fix it.
pair.py: everything that a study has for one model and dataset, read once.
rerun_judges.py: asks judges again about user turns that they have labelled.
rerun_requests.py: runs requests of a finished study again.
rerun_sample.py: draws the rows to run again and counts equal results.
run.py: runs every check on a results folder.
table_diff.py: describes how two tables differ without quoting a dataset.
write_audit.py: writes an audit as text, JSON and a page.
"""
