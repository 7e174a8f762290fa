"""What the audit of a finished study costs this machine, by how much the study holds.

python benchmarks/auditing.py RESULTS [RESULTS ...]
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measuring import cost_of

# Without the sandbox, whose processes nobody could count.
AUDIT = """
import sys
from pathlib import Path
from userturn.audit.run import audit
found = audit(Path(sys.argv[1]))
sys.exit("\\n".join(map(str, found.findings)) or None)
"""
HEAD = "| files | MB | user turns | seconds | CPU seconds | MB in a process |\n" + 6 * "|---" + "|"


def line(results: Path) -> str:
    """Audit a study and return a line of a table: how much it holds, and what that took.

    Raises:
        SystemExit: the audit has findings, which are in the message.
    """
    sizes = [path.stat().st_size for path in results.rglob("*") if path.is_file()]
    turns = results.glob("cells/**/user_turns.parquet")
    n_turns = sum(pl.scan_parquet(path).select(pl.len()).collect().item() for path in turns)
    with TemporaryDirectory() as folder:
        cost = cost_of([sys.executable, "-c", AUDIT, results.resolve()], Path(folder))
    holds = f"{len(sizes):,} | {sum(sizes) / 1e6:,.0f} | {n_turns:,}"
    return f"| {holds} | {cost.wall:.0f} | {cost.cpu:.0f} | {cost.megabytes:,.0f} |"


def main(studies: list[str]) -> None:
    """Print the table."""
    print(HEAD)
    for study in studies:
        print(line(Path(study)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
