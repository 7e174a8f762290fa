"""The system calls that a program is refused, as a filter that the kernel reads (seccomp).

They reach what the sandbox's other limits do not count: memory that belongs to no process, keys
that outlast it, and sockets, of which those to the host of a virtual machine are in no network.
"""

import errno
import struct
from collections.abc import Iterator

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # `platform.machine()`, AUDIT_ARCH_…
REFUSED = {  # number on x86_64, on aarch64
    "add_key": (248, 217),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "perf_event_open": (298, 241),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmget": (29, 194),
    "socket": (41, 198),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
OTHER_NUMBERS = 0x40000000  # from here on x86_64 has its calls again, for 32-bit pointers
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # BPF_LD_W_ABS, BPF_JEQ_K, …
NUMBER, ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000  # SECCOMP_RET_…


def _statements(machine: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield code, jump if true, jump if false and constant of each statement."""
    column = list(ARCHITECTURES).index(machine)
    numbers = [found[column] for found in REFUSED.values()]
    yield LOAD, 0, 0, ARCHITECTURE
    yield EQUAL, 1, 0, ARCHITECTURES[machine]
    yield RETURN, 0, 0, KILL
    yield LOAD, 0, 0, NUMBER
    yield AT_LEAST, len(numbers) + 1, 0, OTHER_NUMBERS
    for place, number in enumerate(numbers):
        yield EQUAL, len(numbers) - place, 0, number
    yield RETURN, 0, 0, ALLOW
    yield RETURN, 0, 0, REFUSE


def call_filter(machine: str) -> bytes | None:
    """Return the filter for a kind of machine (struct sock_filter), or None where it is not known.

    A refused call fails with `EPERM`; a call of another architecture ends the program.
    """
    if machine not in ARCHITECTURES:
        return None
    return b"".join(struct.pack("=HBBI", *statement) for statement in _statements(machine))
