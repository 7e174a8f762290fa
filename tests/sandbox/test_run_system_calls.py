"""The kernel's filter refuses the calls of the table, and no other."""

import platform
import struct

import pytest

from tests.sandbox.test_run import PASSING, needs_sandbox
from userturn.sandbox.run import (
    ALLOW,
    ARCHITECTURES,
    KILL,
    REFUSE,
    REFUSED,
    Ending,
    call_filter,
    run_program,
)


def verdict(machine: str, architecture: int, number: int) -> int:
    """Return what the filter of a machine says of a call, read as the kernel's manual has it."""
    given, found, place = call_filter(machine) or b"", 0, 0
    program = [struct.unpack_from("=HBBI", given, at) for at in range(0, len(given), 8)]
    while True:
        code, if_true, if_false, constant = program[place]
        place += 1
        if code == 0x20:
            found = {0: number, 4: architecture}[constant]
        elif code == 0x06:
            return int(constant)
        else:
            holds = {0x15: found == constant, 0x35: found >= constant}[code]
            place += if_true if holds else if_false


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_refuses_the_calls_of_its_machine_alone(machine: str) -> None:
    here = ARCHITECTURES[machine]
    numbers = {found[list(ARCHITECTURES).index(machine)] for found in REFUSED.values()}
    refused = {n for n in range(600) if verdict(machine, here, n) == REFUSE}
    assert refused == numbers
    assert {verdict(machine, here, n) for n in set(range(600)) - numbers} == {ALLOW}
    assert verdict(machine, here, 0x40000000 + 1) == REFUSE
    assert verdict(machine, 0x40000003, 1) == KILL  # i386


def test_a_machine_whose_calls_are_not_known_has_no_filter() -> None:
    assert call_filter("riscv64") is None


@needs_sandbox
def test_a_program_is_refused_each_of_these_calls() -> None:
    column = list(ARCHITECTURES).index(platform.machine())
    numbers = [found[column] for found in REFUSED.values()]
    tests = (
        "import ctypes, errno\nc = ctypes.CDLL(None, use_errno=True)\n"
        f"for n in {numbers}:\n"
        "    assert c.syscall(n, 0, 0, 0, 0, 0, 0) == -1\n"
        "    assert ctypes.get_errno() == errno.EPERM"
    )
    assert run_program(PASSING, tests) == Ending(True)
