"""The grid of a study: its cells and the identity of each.

aliases.py: files that were reformatted and names that changed, as the study knows them.
annotation_files.py: which files hold people's labels.
asks.py: what a request asks for, told without a tokenizer, and where the replies to it are.
cells.py: a cell (model, dataset, temperature, perturbation) and where its files are.
contents.py: the contents of files that identities depend on, never their names.
grid.py: all cells of a configuration, and the identity of each artifact.
grid_elsewhere.py: what a grid is asked in a process of its own.
judge.py: the judges of a study by name.
model_description.py: reads results/models/<model>.json and the identity of its requests.
powers.py: what the settings of a study could do to whoever runs it.
record.py: results/study.json: the configuration and the content hashes that it relied on.
sweep_notes.py: which answers, cells and scores need no sweep, as sweeps note it.
"""
