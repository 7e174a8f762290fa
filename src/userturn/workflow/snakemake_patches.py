"""What Snakemake works out anew for every job, though it never changes, remembered.

Where a script is cached and which arguments a function takes were a fifth of what Snakemake took
to plan a study. Both depend on nothing but the path or the function asked about.
"""

from contextlib import suppress
from functools import cache


def remember() -> None:
    """Have Snakemake look these two up once; a version that names them otherwise stays as it is."""
    with suppress(ImportError, AttributeError):
        from snakemake.sourcecache import LocalSourceFile

        LocalSourceFile.get_cache_path = cache(LocalSourceFile.get_cache_path)
    with suppress(ImportError, AttributeError):
        from snakemake import common, rules

        remembered = cache(common.get_function_params)
        common.get_function_params = rules.get_function_params = remembered
