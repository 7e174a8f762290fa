"""Stands in for vLLM's worker on another node: notes its rank and itself, and stays so long."""

import json
import os
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    settings = json.loads(sys.argv[1])
    note = Path(settings["folder"], os.environ["SLURMD_NODENAME"])
    note.write_text(f"{os.environ['SLURM_PROCID']} {os.getpid()}\n")
    time.sleep(settings["seconds"])
    sys.exit(5)
