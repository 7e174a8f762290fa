"""Random generators, each seeded by its purpose."""

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def generator(seed: int, *names: object) -> "np.random.Generator":
    """Return a random generator for one named quantity, the same for the same names and seed."""
    import numpy as np  # a tenth of a second, and most jobs draw nothing

    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])
