"""Faults of endpoints: what each says, and how a question that it is said to must end.

row.py: one fault: what is said, the end of the question, its requests, its tokens and its money.
usages.py: replies with odd counts of tokens.
contents.py: replies whose text is not what was asked for.
structures.py: bodies that are no chat completion, or an odd one.
statuses.py: HTTP statuses.
connections.py: connections, headers and encodings that go wrong.
batches.py: batches that go wrong.
completions.py: replies of a model's server that are none, or of another model, prompt or turn.
"""
