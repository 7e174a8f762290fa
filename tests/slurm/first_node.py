"""Names its node, starts a worker on the other one and ends as told: FOLDER SECONDS HOW."""

import os
import signal
import sys
import time
from pathlib import Path

from userturn.models import multi_node as nodes

if __name__ == "__main__":
    folder, seconds, how = sys.argv[1:]
    print(os.environ["SLURMD_NODENAME"], flush=True)
    nodes.WORKER = [sys.executable, "-m", "tests.slurm.worker"]
    nodes.start_workers(2, {"folder": folder, "seconds": int(seconds)})
    while not any(note.stat().st_size for note in Path(folder).iterdir()):
        time.sleep(0.1)
    if how == "waits":
        time.sleep(600)
    if how == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(3 if how == "fails" else 0)
