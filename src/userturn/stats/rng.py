"""Random generators, each seeded by its purpose."""

import hashlib

import numpy as np


def generator(seed: int, *names: object) -> np.random.Generator:
    """Return a random generator for one named quantity, the same for the same names and seed."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])
