"""Reading the workflow is cheap: every start of Snakemake, on every node, pays for it.

An import contract cannot say this: it counts imports inside functions too, and these are how heavy
packages are kept out of the start.
"""

import subprocess
import sys

HEAVY = ["polars", "pyarrow", "scipy", "torch", "transformers", "vllm", "datasets", "altair"]


def test_reading_the_workflow_imports_no_heavy_package() -> None:
    code = f"import sys, userturn.workflow.startup; print([n for n in {HEAVY} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
