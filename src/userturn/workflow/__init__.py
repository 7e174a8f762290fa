"""Answers the rules' questions to a study: inputs, params and resources of each job.

columns.py: what the columns of somebody's rows are for, as far as can be told.
data.py: datasets, models and trainings, and tables of turns by model and dataset.
first_study.py: the configuration of a first study, of a model's name and a file of questions.
downloads.py: whether the models to be downloaded fit on the disk.
humans.py: rounds of labels and of pairs, and the cells they draw from.
job_record.py: one record per job: inputs, outputs, settings, times, code and machine.
jobs.py: every rule that `run_job` runs: what it makes from what, and by which function.
judges.py: for rules/judges.smk: what each judge has yet to judge.
nearest_target.py: a target that nothing makes, told with the one that was meant.
pending.py: for rules/generation.smk: what is missing or outdated, and its sweeps.
registry.py: every table and figure, as its module declares it.
run_folder.py: the folder of a run (its lock, earlier outputs, names) and of a new study.
run_job.py: what texts of the table of jobs stand for; calls a job's function.
startup.py: how a run begins (lock, configuration, study), and what a dry run prints.
study.py: the object that rules ask, every artifact of it; that of a finished study.
study_files.py: the files of a finished study, and their records.
study_size.py: requests and judge questions, of a study and of what a run asks, in numbers.
tables.py: the tables and figures that a study has, what they are made of, their identities.
"""
