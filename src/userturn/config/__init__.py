"""The configuration: read, merged and checked.

addresses.py: checks the address of a server in an entry, and the name of its key's variable.
catalogue.py: datasets of data/catalogue.yaml, which a run selects by their names.
chat_models.py: models behind a chat API: what their entries may say, and their stand-in.
check.py: checks a configuration; one sentence for the first thing that is wrong.
dataset_files.py: the files of a dataset's entry: one, or one for each language.
dataset_keys.py: the keys of datasets.
described.py: JSON Schema of a description, from the types of its keys.
endpoint_models.py: models that somebody else serves: what their entries may say.
entries.py: the datasets, models and judges that a run selects, completed with defaults.
errors.py: the error for a bad configuration, and the nearest valid name.
families.py: family and size of a model, from its entry or its name.
former_trainings.py: how earlier versions trained, which their studies keep.
formats.py: prompt formats, in which a model is a line of its own in the grid.
installation.py: where the workflow is installed, and the files of the present folder's study.
judge_keys.py: the keys of judges.
keys.py: how a key is described: its meaning, its bounds, and what it could do.
load.py: reads configuration files and merges them as Snakemake does.
model_keys.py: the keys of models and of formats.
named_paths.py: the files and names of a stranger's configuration, which may lead nowhere else.
numbers.py: numbers written as text, taken as numbers.
own_detector.py: what tells languages in a study: one begun with langdetect keeps it.
own_rubric.py: the rubric of a study: one that was begun with rubric 1 keeps it.
own_vllm.py: vLLM's settings of one model, and which of them change tokens.
prediction_keys.py: the keys of a study's own prediction, and what the schema cannot check.
probes.py: how user turns are asked for: raw, or in role-play.
recipes.py: training recipes of data/recipes, read and checked.
reference.py: writes docs/reference_config.md, the configuration reference.
repeated_trainings.py: trainings that are repeated with other seeds, a model each.
schema.py: the JSON Schema of the configuration, with its entries, defaults and resources.
shared_keys.py: values that several parts of the configuration take.
statistics_keys.py: the keys of how intervals and tests are computed.
study_keys.py: the keys of a configuration.
trained_models.py: entries of trained models, completed from their bases.
training_exposure.py: which datasets a model has seen in training, by its recipes.
training_identity.py: what tells one training from another.
trust.py: what a study's record alone cannot authorise.
slurm_resources.py: devices, memory and time of a job that loads a model.
"""
