"""Packs the workflow into the wheel: it stays at the root of the repository, for Snakemake."""

from pathlib import Path
from shutil import copy2

from setuptools import setup
from setuptools.command.build_py import build_py

PACKED = (
    *("Snakefile", "config.yaml", "CITATION.cff", "results/README.md"),
    *("rules", "scripts", "data", "profiles", "envs"),
    "benchmarks/vllm_on_gpu.py",  # which `userturn doctor --gpu` runs
)
LEFT_OUT = ("envs/locks/", "envs/environments.py", "envs/setup.py")  # of a clone alone
LABELS = Path("data/annotations")  # of the clone's own study; its README is everybody's


class WithWorkflow(build_py):
    """Copies the workflow beside the package's modules."""

    def run(self) -> None:
        """Build the package; a clone that is installed in place has the workflow already."""
        super().run()
        if self.editable_mode:
            return
        parts = [Path(name) for name in PACKED]
        files = [f for part in parts for f in ([part] if part.is_file() else part.rglob("*"))]
        for path in sorted(files):
            is_label = LABELS in path.parents and path != LABELS / "README.md"
            if path.is_file() and not is_label and not path.as_posix().startswith(LEFT_OUT):
                target = Path(self.build_lib, "userturn", "installed", path)
                target.parent.mkdir(parents=True, exist_ok=True)
                copy2(path, target)


setup(cmdclass={"build_py": WithWorkflow})
