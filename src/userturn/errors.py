"""The one exception that means: the user can fix this, and the message says how."""


class UserError(Exception):
    """Bad input in one sentence: what is wrong, what was found, what was expected, what to do.

    Attributes:
        stays: whether another attempt at the same job would meet it too.
    """

    stays: bool = False


class NoRoomError(Exception):
    """Where a command writes is full or read-only: nothing is wrong with what it reads."""
