"""How much memory a model folder's weights take, from the headers of their files."""

import json
from math import prod
from pathlib import Path

from userturn.models.weight_files import INDEX, LENGTH, LONGEST
from userturn.storage.given_files import given_object

FLOATS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}  # bytes of a number, by its stored type
OTHERS = {"I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2}  # and 1 of any type else
OF_TYPE = {"float32": 4, "float16": 2, "bfloat16": 2}
QUANTISED = {"bitsandbytes": 0.5}  # bytes of a number that is quantised as it is loaded, else 1


def weight_bytes(folder: Path, dtype: str, quantization: str | None, is_quantised: bool) -> float:
    """Return the bytes of a folder's weights as an engine holds them; 0 if they are not there.

    Args:
        folder: of the model.
        dtype: that the engine loads unquantised weights in; `auto` for that of the file.
        quantization: how the engine quantises them as it loads them, if it does.
        is_quantised: whether the files hold quantised weights, which stay as they are.
    """
    files = [path for path in sorted(folder.glob("*.safetensors")) if path.is_file()]
    found = sum(_bytes(path, None if is_quantised else dtype, quantization) for path in files)
    return found or _told(folder)


def _told(folder: Path) -> float:
    """Return what the index says of weights that have not been fetched."""
    path = folder / INDEX
    about = given_object(path).get("metadata") if path.is_file() else None
    size = about.get("total_size") if isinstance(about, dict) else None
    return float(size) if isinstance(size, int | float) else 0.0


def _bytes(file: Path, dtype: str | None, quantization: str | None) -> float:
    with file.open("rb") as content:
        n = int.from_bytes(content.read(LENGTH), "little")
        header = content.read(n) if n <= LONGEST else b"{}"
    tensors = [one for name, one in json.loads(header).items() if name[:2] != "__"]
    sizes = [prod(one["shape"]) * _each(one["dtype"], dtype, quantization) for one in tensors]
    return float(sum(sizes))


def _each(stored: str, dtype: str | None, quantization: str | None) -> float:
    """Return the bytes of one number in memory."""
    if stored not in FLOATS:
        return OTHERS.get(stored, 1)
    if dtype is None:
        return FLOATS[stored]
    return QUANTISED.get(quantization, 1) if quantization else OF_TYPE.get(dtype, FLOATS[stored])
