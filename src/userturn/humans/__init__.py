"""People check the judge: sample, rounds, task page, import, labels."""
