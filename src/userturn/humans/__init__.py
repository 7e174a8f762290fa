"""Have people label user turns, and import their labels.

blinding.py: removes from a user turn what could reveal its model family.
import_labels.py: imports annotators' files on turns and on pairs; every row is checked.
label_files.py: reads files saved by the annotation page or exported by Label Studio.
labels.py: people's labels with their sampling weights, and which raters are compared.
pairs.py: rounds of pairs of a person's and a model's turn: which of the two did a person write?
rounds.py: annotation rounds: their turns, what annotators see of them, and the key.
sample.py: which user turns are drawn, and how many of each stratum.
task_page.py: the annotation page of turns or pairs, and the same task for Label Studio.
tell_apart.py: asks a judge which of two turns a person wrote, in a study's pairs or MirrorBench's.
"""
