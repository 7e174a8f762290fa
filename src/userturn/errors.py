"""The one exception that means: the user can fix this, and the message says how."""


class UserError(Exception):
    """Bad input in one sentence: what is wrong, what was found, what was expected, what to do."""
