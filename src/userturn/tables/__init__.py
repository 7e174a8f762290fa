"""The tables of results/tables, one file each.

accuracy.py: share of correct answers by model and dataset.
added_columns.py: the column `format`, and what trained models have seen, beside their numbers.
agreement.py: agreement of judges and people.
anchor_evidence.py: finds the study's number for each published result and each own prediction.
anchor_rules.py: when a prediction holds in a study, fails, or is undecided.
anchors.py: the paper's published results, and a study's predictions, beside the study's.
beside_accuracy.py: accuracy beside follow-up rate, and correlations over models.
chance_floor.py: the share of genuine turns after other answers, and what is above it.
confusion.py: labels of one rater against labels of another, and the turns that differ.
contrast_tests.py: contrasts of conditions, their sets of tests, and families compared.
contrasts.py: a condition against its baseline, and families against each other.
copies.py: items of a dataset with the conversation of another, which are one cluster.
corrected_rates.py: rates corrected for a judge's errors by people's labels.
costs.py: requests, tokens, money and time of each judge and cell.
decoupling.py: whether accuracy goes with follow-ups, over models and over items.
equivalence.py: claims that something is small, unchanged or kept, against margins.
families.py: family, size and base of each model.
human_likeness.py: how often people take a model's turn for the one that a person wrote.
item_pairs.py: pairs of the same item under two conditions, their difference and its test.
judge_card.py: how accurate each judge is on turns whose kind is known, and if probabilities hold.
judge_validity.py: whether a judge is validated, so that its rates count as findings.
judges.py: how far each judge can be believed, by turns of a known kind and by people.
known_turns.py: turns whose kind is known, with each judge's label.
layout.py: how a table is shown, in the report, Markdown and LaTeX.
likelihood.py: reference follow-ups, and what models wrote themselves.
likelihood_measures.py: how likely models find reference follow-ups, and models compared.
make_tables.py: reads the inputs of tables, and makes and writes the tables.
parts_of_cells.py: turns of conversations and languages: their rates and contrasts.
pilot.py: a finished study's numbers for planning the next one.
rates.py: share of genuine turns and of every other label, of cells and over them.
reference.py: writes results/README.md from declarations, schemas and data/columns.yaml.
repeated_texts.py: copies among turns, and rates over different texts.
repeated_trainings.py: contrasts of a recipe over several trainings of it.
training_curve.py: what trained models do at each checkpoint of their training.
training_overlap.py: items that occur in training data, exactly, nearly or as a part.
turn_properties.py: what user turns are like, without a judge.
turn_rates.py: verdicts counted by item, from which the other tables start, and pooled rates.
turn_similarity.py: how near turns are to what people said, by an embedder.
"""
