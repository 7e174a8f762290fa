"""The one exception that means: the user can mend this, and the message says how."""


class UserError(Exception):
    """Bad input, told in one sentence: what is wrong, the value found, what was expected, what to do."""
