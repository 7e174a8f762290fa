"""Turn a file from the hub or the disk into items: conversations that end in a user message.

arrow_rows.py: reads Parquet and Arrow, the wanted columns alone.
fetch.py: gets a dataset's file or split, local or at a pinned revision of the hub.
items.py: turns rows into items, with the data that their verifier needs.
language.py: the language of a text, and the code of a language.
messages.py: conversations as lists of role and content.
prepare.py: writes a dataset as items: language filter, subsample, condition.
rows.py: reads the rows of a file of any form, and their columns.
turns.py: items after each user turn of a conversation, and which items belong together.
"""
