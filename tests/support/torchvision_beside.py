"""A torchvision for vLLM's Qwen3.5 on a processor, beside the environment and not in it.

PyPI's builds of torchvision are for CUDA; beside a torch for processors their import fails until
the two operators that torch looks for are declared, which a sitecustomize module does first.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

VERSION = "torchvision==0.28.0"
DECLARE_OPERATORS = '''"""Declare torchvision's operators when it is first imported."""
import importlib.abc
import sys


class DeclareOperators(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torch

            library = torch.library.Library("torchvision", "DEF")
            boxes = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            library.define(f"nms{boxes}")
            library.define(f"qnms{boxes}")
            sys.torchvision_operators = library  # else they go when this function returns
        return None


sys.meta_path.insert(0, DeclareOperators())
'''


def write_torchvision(folder: Path) -> Path:
    """Put torchvision and the declaration of its operators into a folder for PYTHONPATH."""
    uv = shutil.which("uv") or shutil.which("uv", path=Path(sys.executable).parent)
    pip = [uv, "pip", "install", "--python"] if uv else []
    command = [*pip, sys.executable, *([] if uv else ["-m", "pip", "install"])]
    target = ["--no-deps", "--target", str(folder), VERSION]
    done = subprocess.run([*command, *target], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{VERSION} could not be fetched: {done.stderr.strip().splitlines()[-1]}")
    (folder / "sitecustomize.py").write_text(DECLARE_OPERATORS)
    return folder
