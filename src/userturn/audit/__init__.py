"""Check a finished study from its folder alone.

audit.py: the result of an audit: what was checked and what was found.
audit_command.py: makes every check and what is asked for besides, and writes the result.
check_aliases.py: do the names that journals are kept under agree with the study?
check_claims.py: do records of tables name their inputs, and has a claims sheet their numbers?
check_files.py: does every file exist, unchanged, and made from the present inputs?
check_journals.py: does every journal begin with what jobs recorded of it, and end there?
check_likelihood.py: is every score what was planned, and what the engine said?
check_markers.py: do markers of sweeps and judging say what was planned?
check_pairs.py: are the pairs of a round those that its turns give, shown as they were written?
check_paths.py: does a stranger's configuration name files outside of its study?
check_probes.py: does every probe show the model's own answer, changed as its perturbation says?
check_prompts.py: do prompts and texts follow from the model's own tokenizer and template?
check_readme.py: is the description of a study's files this version's?
check_records.py: does every record belong to the job that its path names?
check_replay.py: does every job that needs no model make the same again?
check_reruns.py: do requests that are run again give the same result?
check_rounds.py: are the turns for people those that samples give, shown as they were written?
check_rows.py: does every answer and user turn match its plan and its journal?
check_secrets.py: does any file contain a key or password?
check_settings.py: were artifacts made with the settings of the configuration?
check_sources.py: do datasets and people's labels follow from their source files?
check_training.py: does the record of a training say what its checkpoint, data and recipe say?
check_verdicts.py: does every verdict, grade and count match its source?
checklist.py: what was compared, what is a root, and what was not compared for which reason.
checks.py: what each check finds, and how many files of its kind there are.
findings.py: one finding: artifact, expected, found, and how to fix it.
pair.py: everything that a study has for one model and dataset, read once.
rerun_judges.py: asks judges again about user turns that they have labelled.
rerun_requests.py: runs requests of a finished study again.
rerun_sample.py: draws the rows to run again and counts equal results.
run.py: runs every check on a results folder.
table_diff.py: describes how two tables differ without quoting a dataset.
write_audit.py: writes an audit as text, JSON and a page.
"""
