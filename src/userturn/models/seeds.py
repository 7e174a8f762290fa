"""The seed of one request, derived from the study's seed."""

import hashlib
from functools import lru_cache

from userturn.storage.hashing import canonical_json

SEED_BITS = 63


@lru_cache(maxsize=65_536)  # the same items and samples occur in every cell
def derive_seed(study_seed: int, role: str, dataset: str, item: str, sample: int) -> int:
    """Return the seed of one request: a hash, so that no two requests share one by design.

    It does not depend on model, temperature or perturbation: contrasts over these are drawn
    with common random numbers.
    """
    text = canonical_json([study_seed, role, dataset, item, sample])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> (64 - SEED_BITS)


def role_at(role: str, depth: int) -> str:
    """Return a role as seeds have it: beyond the first depth of self-play, each has its own.

    With one seed for all depths a turn would be drawn by the numbers of the turn before it, and
    repeat it for no other reason.
    """
    return role if depth == 1 else f"{role} at depth {depth}"
