"""vLLM's settings of one model: which of them change tokens, and so its requests' identity.

The entry takes a closed list, `VllmSettings` of shared_keys.py. All but these change how fast a
model runs and where it fits: the tokens only as far as another batch rounds otherwise, which is no
part of an identity (docs/engines.md).
"""

from collections.abc import Mapping
from typing import Any

CHANGE_TOKENS = ("kv_cache_dtype", "quantization")


def identifying_vllm(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an entry's `vllm` adds to its identity; nothing if it changes no token."""
    own = entry.get("vllm", {})
    found = {name: own[name] for name in CHANGE_TOKENS if own.get(name, "auto") != "auto"}
    return {"vllm": found} if found else {}
