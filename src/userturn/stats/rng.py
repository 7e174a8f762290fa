"""Random generators, each seeded by what it is for."""

import hashlib

import numpy as np


def generator(seed: int, *names: object) -> np.random.Generator:
    """Return a generator for one named quantity: a grown study repeats the draws of the old one."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])
