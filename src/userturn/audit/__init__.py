"""Check a finished study from its folder alone.

Checks take `files`, the files of a results folder; `required`, the artifacts that the study's
configuration asks for, with identities; `broken`, those missing, altered, left out of this copy or
outdated, which are not compared; `pair`, a model and dataset; `of`, a table that requests fill.

check_files.py: does every file exist, unchanged, made from the present inputs, without a secret?
check_journals.py: is every journal what jobs recorded of it, and are accounts and aliases sound?
check_probes.py: does every probe show the answer that its perturbation asks for, changed as told?
check_prompts.py: do prompts and texts follow from the model's own tokenizer and template?
check_records.py: do records and markers of jobs say what was planned and done?
check_replay.py: does every job that needs no model make the same again?
check_reruns.py: do random rows give the same result when they are run again?
check_rounds.py: are turns and pairs for people those that samples give, shown as written?
check_rows.py: does every answer, user turn and score match its plan and its journal?
check_settings.py: does a study have what its configuration asks for, inside of it?
check_sources.py: do datasets, local models and trainings follow from their sources?
check_verdicts.py: does every verdict and grade match its source?
findings.py: one finding: artifact, expected, found, and how to fix it; how two tables differ.
pair.py: everything that a study has for one model and dataset, read once.
rerun_requests.py: runs requests of a finished study again, and asks judges again.
result.py: the checks of an audit, and its result, told in the terminal, as JSON and as a page.
run.py: runs every check on a results folder.
"""
