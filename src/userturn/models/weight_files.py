"""Whether a model folder's weights are whole, from their headers: nothing is loaded."""

import json
from pathlib import Path

from userturn.errors import UserError
from userturn.storage.files import given_object

INDEX = "model.safetensors.index.json"
LENGTH = 8  # bytes at the beginning of a safetensors file: the length of its header
LONGEST = 100_000_000  # bytes of a header, by the format
AGAIN = "fetch the model again, or correct its source in the config"


class BrokenWeightsError(UserError):
    """Weights that are not whole, and will not be at another attempt."""

    stays = True


def check_weight_files(folder: Path) -> None:
    """Refuse a model folder whose config or weights were cut short or did not all arrive.

    Raises:
        UserError: config.json is no object.
        BrokenWeightsError: a file of the index is missing, one is damaged, or there are none.
    """
    given_object(folder / "config.json")
    index = folder / INDEX
    named = _named_files(index) if index.is_file() else set()
    missing = sorted(name for name in named if not (folder / name).is_file())
    if missing:
        raise BrokenWeightsError(
            f"model folder '{folder}' lacks {len(missing)} of the {len(named)} files with weights "
            f"that {INDEX} names, such as '{missing[0]}'; {AGAIN}"
        )
    files = sorted(folder.glob("*.safetensors"))
    for file in files:
        if not file.is_file():  # as in a cache from which content was removed
            raise BrokenWeightsError(f"'{file}' is a link to a file that is gone; {AGAIN}")
    for file in files:
        check_safetensors(file)
    if not files and not [*folder.glob("*.bin"), *folder.glob("*.pt")]:
        raise BrokenWeightsError(f"model folder '{folder}' has no weights (*.safetensors); {AGAIN}")


def _named_files(index: Path) -> set[str]:
    weights = given_object(index).get("weight_map")
    if not isinstance(weights, dict) or not all(isinstance(n, str) for n in weights.values()):
        raise BrokenWeightsError(f"'{index}' has no `weight_map` from weights to files; {AGAIN}")
    return set(weights.values())


def check_safetensors(file: Path) -> None:
    """Refuse a safetensors file whose size is another than its header says.

    Raises:
        BrokenWeightsError: it was cut short, or is no such file.
    """
    found = file.stat().st_size
    with file.open("rb") as content:
        n = int.from_bytes(content.read(LENGTH), "little")
        header = content.read(n) if n <= min(found, LONGEST) else b""
    try:
        tensors = json.loads(header)
        ends = [tensor["data_offsets"][1] for name, tensor in tensors.items() if name[:2] != "__"]
        expected = LENGTH + n + max(ends, default=0)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BrokenWeightsError(
            f"'{file}' is no safetensors file ({found} bytes, its header cannot be read); {AGAIN}"
        ) from error
    if found != expected:
        raise BrokenWeightsError(
            f"'{file}' has {found} bytes, expected {expected} by its header; {AGAIN}"
        )
