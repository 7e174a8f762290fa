"""Check every artifact, its provenance and the chain between them, in the command's sandbox."""

import sys
from pathlib import Path

from userturn import logs
from userturn.cli.main import main

if __name__ == "__main__":
    logs.log_to(snakemake.log[0])
    sys.argv[1:] = ["audit", "results"]
    code = main()
    for tell in logs.beside:
        tell(Path(snakemake.log[0]).read_text("utf-8").rstrip())
    sys.exit(code)
