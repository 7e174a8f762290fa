"""The tables of results/tables, one file each.

accuracy.py: share of right answers by model and dataset.
agreement.py: agreement between judges and people.
anchor_evidence.py: what a study has for each published result.
anchor_rules.py: when a study agrees with a published result, differs, or cannot tell.
anchors.py: published results beside the study's.
claims.py: claims that something is small, unchanged or kept, against margins.
confusion.py: labels of one rater against labels of another.
contrasts.py: a condition against its baseline on shared items.
controls.py: how each judge labels turns of a known kind.
corrected_rates.py: rates corrected for a judge's errors by people's labels.
correlations.py: rank correlations over models, and slopes over model size.
costs.py: requests, tokens and money of each judge and cell.
cut_answers.py: answers that ended at the token limit.
decoupling.py: accuracy beside follow-up rate by model and dataset.
disagreements.py: turns that a judge and people label differently.
equivalence.py: which of these claims hold.
failure_profiles.py: share of each label.
families.py: family, size and base of each model.
health.py: empty, cut, failed and unscored turns of each cell.
held_out.py: which datasets a trained model has seen, and rows that fail to say so.
interactions.py: whether conditions change families alike.
item_association.py: whether right answers and genuine follow-ups go together over items.
item_pairs.py: items under two conditions beside each other, with their shares.
item_counts.py: verdicts counted by item, from which the other tables start.
judge_card.py: how far each judge can be believed, by turns whose kind is known.
judge_validity.py: whether a judge's rates may be read as findings.
judges.py: injection rate, cost and speed of each judge.
label_domain.py: turns by one judge, what was drawn of them, and what people labelled.
make_tables.py: the inputs that tables are made from, and how tables are written.
pilot.py: what a finished study says of the next one.
pooled_rates.py: rates over several cells.
pooling.py: pools turns over items, datasets, models and families.
post_training.py: a trained model against its base.
print_layout.py: how numbers are printed in Markdown and LaTeX.
published_results.py: what the paper publishes, and where a study has the same quantity.
rates.py: rate of each cell and judge, with interval and coverage.
reference.py: writes results/README.md from the registry, the schemas and data/columns.yaml.
report_layout.py: how a table says what the report shows of it.
temperature_response.py: lowest against highest temperature, and where a rise is detected.
training_overlap.py: items that occur in training data, exactly or nearly.
turn_clusters.py: rates of turns that belong to one item or conversation.
unscored_bounds.py: what turns without a verdict could make of a contrast.
variance_components.py: how far models, items, samples and judges make verdicts differ.
"""
