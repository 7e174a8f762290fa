"""Have people label user turns, and import their labels.

allocation.py: allocates a round's turns to strata, by Neyman.
blinding.py: removes from a user turn what could reveal its model family.
draw_once.py: keeps a drawn round.
import_labels.py: imports annotators' files; every row is checked.
import_pairs.py: imports people's labels of pairs.
label_files.py: reads files saved by the annotation page or exported by Label Studio.
labels.py: people's labels with their sampling weights.
machine_pairs.py: pairs of turns that a judge is to tell apart, and controls of one kind.
mirrorbench.py: reads the pairs of MirrorBench that people labelled.
pair_page.py: the annotation page of a round of pairs.
paired_turns.py: the model's turns that can stand beside a person's.
pairs.py: rounds of pairs of a person's and a model's turn: which of the two did a person write?
practice.py: turns to learn the labels by, which count for nothing.
rater_pairs.py: which raters are compared with which.
rounds.py: annotation rounds: their turns, what annotators see of them, and the key.
sample.py: draws user turns by a keyed hash, per cell and label of a judge.
task_page.py: the annotation page, and the same task for Label Studio.
"""
