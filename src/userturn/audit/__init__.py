"""Check a finished study from its folder alone.

audit.py: the result of an audit: what was checked and what was found.
audit_page.py: writes the result as an HTML page.
check_chance_floor.py: are the turns of the chance floor those of the cells, after drawn answers?
check_files.py: are all files there, unchanged, and made from the inputs that are there now?
check_held_out.py: is every dataset that a model was trained on marked as seen?
check_probes.py: does every probe show the model's own answer, changed as its perturbation says?
check_prompts.py: are prompts and texts what the model's own tokenizer makes of them?
check_reruns.py: do requests that are run again give the same result?
check_rows.py: does every answer and user turn match its plan and its journal?
check_secrets.py: does any file contain a key or password?
check_settings.py: were artifacts made with the settings that the configuration asks for?
check_sources.py: are datasets and people's labels what their own files say?
check_tables.py: does every table follow from its inputs, and every printed form from it?
check_verdicts.py: does every verdict, grade and count match its source?
findings.py: one finding: artifact, expected, found, and how to fix it.
pair.py: everything that a study has of one model and dataset, read once.
rerun_judges.py: asks judges again about user turns that they have labelled.
rerun_requests.py: runs requests of a finished study again.
rerun_sample.py: draws the rows to run again and counts how many came out equal.
run.py: runs every check on a results folder or an archive.
table_diff.py: describes how two tables differ without quoting a dataset.
trust.py: what a record alone must not cause: sending a key, running a model's code.
"""
