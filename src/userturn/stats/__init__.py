"""Intervals, tests and estimators: arrays in, numbers out.

agreement.py: agreement of raters: raw, Cohen's kappa, Krippendorff's alpha, Gwet's AC1.
arrays.py: the types of arrays.
allocation.py: how many of each stratum to draw, by Neyman.
association.py: rank correlation over models.
auc.py: the area under the ROC curve of a score, for clustered turns.
chrf.py: how many character n-grams two texts share.
between_trainings.py: changes by trainings that are repeated: items and trainings are draws.
cluster_bootstrap.py: intervals of agreement, by a bootstrap over clusters.
clustered.py: rates of items that have several turns each.
clustered_means.py: means of numbers whose turns share conversations.
combinations.py: limits of sums and differences, from the limits of their parts.
diversity.py: how varied the words of several texts are.
crossed.py: effects of a two-way layout: rows, columns and both.
equivalence.py: whether a quantity is within a margin.
multiple_tests.py: Holm, and Benjamini and Hochberg.
margins.py: rates under several conditions, and sums and differences of them.
odds_ratios.py: odds ratios over items, with limits that are exact given the margins.
paired.py: changes of turns in clusters, and the smallest detectable change.
prediction_powered.py: rates corrected for a judge's errors.
proportions.py: one proportion and its interval.
rng.py: random generators, each seeded by its purpose.
sample_size.py: items, samples and labels for a given precision or power.
sign_flips.py: the exact test of paired differences.
within_items.py: whether a score tells the right answers of an item, and what the best is worth.
"""
