"""The report: results/report.

build.py: writes the page with headline, figures and tables, and what a study was made of.
comparison_page.py: the page of studies that are compared.
flips.py: studies that are compared, and turns that one calls genuine and another does not.
claims.py: each main number, table and figure of an archive, with what makes it again.
charts.py: the figures: static pictures, and the charts that take their place.
explorer.py: the data files of the explorer: all cells and their user turns.
explorer_prompts.py: the items and prompts that the explorer shows.
headline.py: the main numbers of a study, by one judge.
likelihood_data.py: the data files of the explorer: which tokens an answer helped to expect.
"""
