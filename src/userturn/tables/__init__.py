"""The tables of results/tables, one file each.

accuracy.py: share of correct answers by model and dataset.
agreement.py: agreement of judges and people.
anchor_evidence.py: finds the study's number for each published result.
anchor_rules.py: when a prediction holds in a study, fails, or is undecided.
anchors.py: the paper's published results, and a study's predictions, beside the study's.
beside_accuracy.py: accuracy beside follow-up rate by model and dataset.
chance_floor.py: the share of genuine turns after other answers, and what is above it.
claims.py: claims that something is small, unchanged or kept, against margins.
compared_conditions.py: contrasts of conditions, and their sets of tests.
confusion.py: labels of one rater against labels of another, and the turns that differ.
contained_texts.py: items inside training texts, and training texts inside items.
copies.py: items of a dataset with the conversation of another, which are one cluster.
contrasts.py: a condition against its baseline, and families against each other.
corrected_rates.py: rates corrected for a judge's errors by people's labels.
correlations.py: rank correlations over models, and slopes over model size.
costs.py: requests, tokens, money and time of each judge and cell.
decoupling.py: whether accuracy goes with follow-ups, over models and over items.
distinct_texts.py: rates over different texts, and how many turns are copies.
edited_answers.py: how often a verdict flips where what a turn takes up is exchanged.
equivalence.py: whether the claims of claims.py hold.
exposure.py: what trained models have seen, beside their numbers.
families.py: family, size and base of each model.
format_columns.py: the column `format`, split from names and joined again.
human_likeness.py: how often people take a model's turn for the one that a person wrote.
interactions.py: whether conditions change families equally.
item_pairs.py: pairs of the same item under two conditions, their difference and its test.
item_counts.py: verdicts counted by item, from which the other tables start.
judge_card.py: how accurate each judge is on turns whose kind is known.
judge_languages.py: which judges have rules that know only English.
judge_validity.py: whether a judge is validated, so that its rates count as findings.
judges.py: how far each judge can be believed, by turns of a known kind and by people.
known_turns.py: turns whose kind is known, with each judge's label.
label_domain.py: turns judged by one judge, the sample drawn from them, and people's labels.
language_contrasts.py: the same problems in several languages.
layout.py: how a table is shown, in the report, Markdown and LaTeX.
likelihood.py: reference follow-ups, and what models wrote themselves.
likelihood_contrasts.py: models compared on reference follow-ups.
likelihood_measures.py: how likely a model finds reference follow-ups.
make_tables.py: reads the inputs of tables, and makes and writes the tables.
pilot.py: a finished study's numbers for planning the next one.
pilot_follow_ups.py: the same for reference follow-ups on which two models are compared.
own_predictions.py: what became of a study's own predictions.
parts_of_cells.py: rates after each turn of conversations, and in each language.
pooling.py: pools turns over items, datasets, models and families.
repeated_trainings.py: contrasts of a recipe over several trainings of it.
rates.py: share of genuine turns and of every other label, of cells and over them.
reliability.py: whether the probabilities that a judge gives hold.
reference.py: writes results/README.md from declarations, schemas and data/columns.yaml.
training_overlap.py: items that occur in training data, exactly, nearly or as a part.
turn_contrasts.py: a later turn of conversations against the first.
turn_copies.py: turns that say another item's turn again, or parts of other texts.
turn_distance.py: how near turns are to what people said.
turn_properties.py: what user turns are like, without a judge.
turn_clusters.py: rates and changes of turns that belong to one item or conversation.
"""
