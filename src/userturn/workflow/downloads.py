"""Whether the models that a run downloads fit on the disk of the cache."""

import shutil
from collections.abc import Iterable

from userturn.config.endpoint_models import has_endpoint
from userturn.errors import hub_cache
from userturn.models.fetch import bytes_to_download
from userturn.study.grid import Grid


def too_large(grid: Grid, models: Iterable[str]) -> str | None:
    """Return why the models to be downloaded do not fit on the disk (largest first), or None.

    Files that are in the cache, and models whose size the hub does not tell, count as 0 bytes.
    """
    entries = {name: grid.entries[name] for name in models}
    sizes: dict[tuple[str, str | None], int] = {}
    for entry in entries.values():
        if "recipe" not in entry and not has_endpoint(entry):
            of = entry["source"], entry["revision"]
            sizes[of] = bytes_to_download(*of) or 0
    cache = hub_cache()
    there = next(path for path in (cache, *cache.absolute().parents) if path.exists())
    needed, free = sum(sizes.values()), shutil.disk_usage(there).free
    if needed <= free:
        return None
    largest = sorted(sizes, key=lambda of: -sizes[of])
    told = ", ".join(f"{source} {sizes[source, of] / 1e9:,.1f} GB" for source, of in largest)
    return (
        f"the models to be downloaded are {needed / 1e9:,.1f} GB ({told}), and the disk of "
        f"'{cache}' has {free / 1e9:,.1f} GB free; free some, set HF_HOME to a folder on a larger "
        "one, or run fewer models at a time"
    )
