"""The configuration: read, merged and checked.

check.py: checks a configuration by its schema and for what that cannot express.
dataset_keys.py: the keys of datasets.
endpoint_models.py: models that somebody else serves: what their entries may say.
entries.py: the datasets, models and judges that a run selects, and the files of datasets.
families.py: family, size and bases of a model, and trainings that are repeated.
formats.py: prompt formats, the raw probe and role-play, and models behind a chat API.
job_resources.py: devices, memory and time of a job that loads a model.
judge_keys.py: the keys of judges, and of the controls that they are measured on.
keys.py: how a key is described, and values that several parts of the configuration take.
load.py: reads and merges configuration files; a study begun earlier keeps rubric and detector.
model_keys.py: the keys of models, of formats and of how turns are sampled.
recipes.py: training recipes of data/recipes, read and checked.
reference.py: writes docs/reference_config.md, the configuration reference.
schema.py: the JSON Schema of the configuration, from the types of its keys.
study_keys.py: the keys of a configuration.
trained_models.py: entries of trained models, what they have seen, and what identifies a training.
trust.py: what a study's record alone cannot authorise, and the files that it may name.
validation.py: values checked against a JSON Schema, as one sentence.
"""
