"""Turn a file from the hub or the disk into items: conversations that end in a user message.

arrow_rows.py: reads Parquet and Arrow, the wanted columns alone.
clusters.py: which items belong together, by their ids.
columns.py: columns by the names that an entry gives.
csv_rows.py: reads CSV with a head.
fetch.py: gets a dataset's file, local or at a pinned revision of the hub.
hub.py: reads a split of a dataset on the hub.
items.py: turns rows into items, with the data that their verifier needs.
language.py: the language of a text, or why it cannot be told.
language_codes.py: the code of a language, from whatever a dataset calls it.
messages.py: conversations as lists of role and content.
prepare.py: writes a dataset as items: language filter, subsample, condition.
rows.py: reads the rows of a file of any form.
turns.py: items after each user turn of a conversation.
unusable.py: notes of datasets that cannot be prepared.
"""
