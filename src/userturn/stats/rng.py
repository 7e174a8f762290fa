"""Random generators, each seeded by its purpose."""

import hashlib

import numpy as np


def generator(seed: int, *names: object) -> np.random.Generator:
    """Return a generator for one named quantity; the same names give the same draws."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])
