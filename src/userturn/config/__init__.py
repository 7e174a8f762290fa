"""The configuration: read, merged and checked.

addresses.py: checks the address of a server in an entry, and the name of its key's variable.
check.py: checks a configuration; one sentence for the first thing that is wrong.
dataset_files.py: the files of a dataset's entry: one, or one for each language.
endpoint_models.py: models that somebody else serves: what their entries may say.
entries.py: the datasets, models and judges that a run selects, completed with defaults.
errors.py: the error for a bad configuration, and the nearest valid name.
families.py: family and size of a model, from its entry or its name.
formats.py: prompt formats, in which a model is a line of its own in the grid.
installation.py: where the workflow is installed, and the files of the present folder's study.
load.py: reads configuration files and merges them as Snakemake does.
named_paths.py: the files and names of a stranger's configuration, which may lead nowhere else.
numbers.py: numbers written as text, taken as numbers.
recipes.py: training recipes of data/recipes, read and checked.
trained_models.py: entries of trained models, completed from their bases.
own_vllm.py: vLLM's settings of one model, and which of them change tokens.
reference.py: writes docs/reference_config.md, the configuration reference.
schema.py: the schema, with the cluster's resources and the verifiers added.
schema_errors.py: an error of the schema as one sentence.
training_exposure.py: which datasets a model has seen in training, by its recipes.
trust.py: what a study's record alone cannot authorise.
verifiers.py: the names of all verifiers, by the files of grading/.
"""
