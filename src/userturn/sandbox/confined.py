"""Run a command of this package in a process with limits that opens only named files.

If bubblewrap starts, the process sees nothing else of the machine, and no network. Otherwise only
the guard of `processes.py` protects, and the command says so.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from userturn.errors import UserError, cache_folder

SYSTEM = (
    *("/usr", "/bin", "/lib", "/lib64"),
    *("/etc/ld.so.cache", "/etc/fonts", "/etc/localtime"),
)
FONTS = ("~/.fonts", "~/.local/share/fonts")  # they shape pictures
PACKAGE = Path(__file__).resolve().parents[2]
INSTALLED = ("data", "rules", "config.yaml")  # beside the package's folder in a clone
PROGRAM = "from userturn.cli.main import main; raise SystemExit(main(is_confined=True))"
MOST_SECONDS = 6 * 3600  # a million turns take two minutes
MOST_OF_MEMORY = 0.75  # of the machine's, for one process
IN_SANDBOX = "it ran in a sandbox: without a network, and without any file but those of the study"
GUARDED = "connections were refused by a guard that sees Python alone; install bubblewrap for one"


class Reach(NamedTuple):
    """The paths that a command may open."""

    readable: Sequence[Path]  # files, and folders with all that is in them
    folder: Path  # the one that it writes to


def limit_memory() -> None:
    """Limit the memory of this process for good."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = (round(MOST_OF_MEMORY * whole), *resource.getrlimit(resource.RLIMIT_DATA))
    most = min(limit for limit in limits if limit != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def run_confined(arguments: Sequence[str], reach: Reach) -> tuple[int, str]:
    """Run a command again in a process that reaches only what it needs.

    Returns:
        Its exit code, and its standard output.

    Raises:
        UserError: the command exceeded its time or memory.
    """
    with TemporaryDirectory(prefix="userturn-") as scratch:
        is_new = not reach.folder.exists()
        around = walls(reach, Path(scratch))
        why = _why_none(around)
        command = [*([] if why else around), sys.executable, "-P", "-c", PROGRAM, *arguments]
        # Altair needs its docstrings, which `python -OO` leaves out.
        variables = {**os.environ, "TMPDIR": scratch, "PYTHONOPTIMIZE": ""}
        try:
            done = subprocess.run(command, env=variables, timeout=MOST_SECONDS, capture_output=True)
        except subprocess.TimeoutExpired as error:
            raise UserError(
                f"it took more than {MOST_SECONDS // 3600} hours and was ended; the study is too "
                "large, or was made to keep its readers waiting"
            ) from error
        finally:
            if is_new and reach.folder.is_dir() and not any(reach.folder.iterdir()):
                reach.folder.rmdir()
    code = _checked(done.returncode)  # the output of a dying engine is not repeated
    print(done.stderr.decode(errors="replace"), end="", file=sys.stderr)
    print(f"no sandbox ({why}): {GUARDED}" if why else IN_SANDBOX, file=sys.stderr)
    return code, done.stdout.decode(errors="replace").rstrip("\n")


def _checked(code: int) -> int:
    """Return an exit code, or raise a UserError if it stands for a signal."""
    number = code - 128 if code > 128 else -code
    if number <= 0:
        return code
    raise UserError(
        f"it was ended by {signal.Signals(number).name}, often for want of memory: pictures need "
        "an address space of some 10 GB (`ulimit -v`), the rest what the study's tables need"
    )


def _why_none(walls: Sequence[str]) -> str | None:
    """Return the reason why there is no sandbox here, or None if there is one."""
    if shutil.which("bwrap") is None:
        return "there is no command `bwrap`"
    tried = subprocess.run([*walls, "true"], capture_output=True, text=True)
    lines = tried.stderr.strip().splitlines() or ["it did not start"]
    return lines[-1] if tried.returncode else None


def walls(reach: Reach, scratch: Path) -> list[str]:
    """Return bubblewrap's command and options, which come before the command to run."""
    beside = [PACKAGE, *(PACKAGE.parent / name for name in INSTALLED)]
    own = [Path(sys.prefix), Path(sys.base_prefix), *beside]
    fonts = [Path(path).expanduser() for path in FONTS]
    also = (*fonts, cache_folder())  # the cache has hashes of weights, and converted models
    readable = sorted({path.resolve() for path in (*own, *also, *reach.readable)})
    # The user inside is not root, so that bubblewrap can start again there, for graded programs.
    command = ["bwrap", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    command += ["--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-ipc"]
    command += ["--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    for path in (*map(Path, SYSTEM), *readable):
        command += ["--ro-bind-try", str(path), str(path)]
    for link in dict.fromkeys(path.absolute() for path in reach.readable):
        real = link.parent.resolve() / link.name
        if link != link.resolve() and not any(real.is_relative_to(path) for path in readable):
            command += ["--symlink", str(link.resolve()), str(link)]
    command += ["--proc", "/proc", "--dev", "/dev", "--dir", str(Path.cwd())]
    for folder in (scratch, reach.folder):
        command += _writable(folder)
    return [*command, "--remount-ro", "/", "--chdir", str(Path.cwd())]


def _writable(folder: Path) -> list[str]:
    """Return bubblewrap's options for a folder to write to, empty if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return []
    return ["--bind", str(folder.resolve()), str(folder.resolve())]
