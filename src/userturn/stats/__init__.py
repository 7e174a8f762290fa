"""Intervals, tests and estimators: arrays in, numbers out.

agreement.py: agreement of raters: raw, Cohen's kappa, Krippendorff's alpha, Gwet's AC1.
association.py: rank correlation over models, odds ratios over items.
bootstrap.py: bootstrap and sign-flip tests over items.
multiple_tests.py: Holm, and Benjamini and Hochberg.
paired.py: two conditions on the same items: test, difference, detectable difference.
prediction_powered.py: rates corrected for a judge's errors.
proportions.py: one proportion and its interval.
rng.py: random generators, each seeded by what it is for.
"""
