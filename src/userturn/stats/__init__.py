"""Intervals, tests and estimators: arrays in, numbers out.

agreement.py: raw agreement, Cohen's kappa, Krippendorff's alpha, Gwet's AC1, with intervals.
association.py: rank correlation over models, odds ratios over items.
clustered_measures.py: means of values, and variety of words, over clusters of turns.
discrimination.py: whether a score tells positives from negatives, and the best answer's worth.
margins.py: rates under several conditions, sums and differences of them, detectable changes.
prediction_powered.py: rates corrected for a judge's errors, and how to draw the labels for it.
proportions.py: rates with their intervals: of turns, of turns that share items, and sums of rates.
rng.py: random generators, each seeded by its purpose.
sample_size.py: items, samples and labels for a given precision or power.
significance.py: the exact test of paired differences, Holm, Benjamini and Hochberg, equivalence.
"""
