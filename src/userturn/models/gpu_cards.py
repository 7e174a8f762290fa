"""What a cluster's name of a GPU says of the card: its memory, and whether it has bfloat16."""

import re

# GB of the largest card of that name, so that nothing is refused that might fit. The longest name
# that a cluster's name contains counts; a size in that name (`a100_40gb`) counts before it.
MEMORY = {
    **dict.fromkeys(("p100", "t4", "a4000", "a2"), 16),
    **dict.fromkeys(
        ("a10", "a10g", "a30", "l4", "a5000", "rtx3090", "rtx4090", "3090", "4090"), 24
    ),
    **dict.fromkeys(("v100", "rtx5090", "5090"), 32),
    **dict.fromkeys(("a40", "a6000", "l20", "l40", "l40s", "rtx6000", "rtx8000"), 48),
    "mi210": 64,
    **dict.fromkeys(("a100", "a800", "h800"), 80),
    **dict.fromkeys(("h100", "rtxpro6000"), 96),
    **dict.fromkeys(("mi250", "mi250x"), 128),
    **dict.fromkeys(("h20", "h200"), 141),
    "gh200": 144,
    **dict.fromkeys(("b200", "gb200", "mi300x", "mi300a"), 192),
    "mi325x": 256,
    **dict.fromkeys(("b300", "gb300", "mi355x"), 288),
}
LARGEST = max(MEMORY.values())  # of a card that no entry names
WITHOUT_BFLOAT16 = ("p100", "v100", "t4", "rtx8000", "2080", "1080")
SIZE = re.compile(r"(\d+)_?gb?(?![a-z0-9])")


def memory_of(gpu_model: str | None) -> int:
    """Return the GB of the largest card that a name fits; of any card where it is unknown."""
    said = SIZE.findall((gpu_model or "").lower())
    if said:
        return int(said[-1])
    name = _plain(gpu_model)
    known = [card for card in MEMORY if card in name]
    return MEMORY[max(known, key=len)] if known else LARGEST


def has_bfloat16(gpu_model: str | None) -> bool:
    """Return whether a card computes in bfloat16, as far as its name says."""
    return not any(card in _plain(gpu_model) for card in WITHOUT_BFLOAT16)


def _plain(name: str | None) -> str:
    return re.sub("[^a-z0-9]", "", (name or "").lower())
