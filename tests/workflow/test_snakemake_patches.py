"""Snakemake looks up once what never changes, and finds the same as it always did."""

import subprocess
import sys

LOOKED_UP_TWICE = """
from snakemake import common, rules
from snakemake.sourcecache import LocalSourceFile
from userturn.workflow.snakemake_patches import remember

class Grid:
    def cells(self, wildcards, input): ...

paths = ["scripts/sweep.py", "/a folder/sweep.py"]
asked = [Grid().cells, lambda wildcards: None, len]
def found():
    params = [list(common.get_function_params(function)) for function in asked]
    return [LocalSourceFile(path).get_cache_path() for path in paths], params

before = found()
remember()
assert found() == found() == before
assert rules.get_function_params is common.get_function_params
for remembered in (LocalSourceFile.get_cache_path, common.get_function_params):
    print(remembered.cache_info().misses, remembered.cache_info().hits)
"""


def test_cached_path_and_arguments_are_looked_up_once_and_are_what_they_were() -> None:
    command = [sys.executable, "-c", LOOKED_UP_TWICE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout.splitlines()) == ("", ["2 2", "3 3"])


NAMED_OTHERWISE = """
from snakemake import common, rules
from snakemake.sourcecache import SourceFile
from userturn.workflow.snakemake_patches import remember

there = rules.get_function_params
del common.get_function_params, SourceFile.get_cache_path
remember()
assert rules.get_function_params is there
"""


def test_snakemake_that_names_them_otherwise_stays_as_it_is() -> None:
    command = [sys.executable, "-c", NAMED_OTHERWISE]
    assert subprocess.run(command, capture_output=True, check=False).stderr == b""
