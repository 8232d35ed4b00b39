"""A filter program run as the kernel runs it, so that its answers to any call can be asked for
without making one.

Source: linux/filter.h, seccomp(2).
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

_WORD = 0xFFFFFFFF


def answer(
    program: Sequence[tuple[int, int, int, int]],
    machine: int,
    number: int,
    arguments: Sequence[int] = (),
) -> int:
    """Return the error number that a call gets, 0 = it is made.

    Args:
        program: instructions.
        machine: AUDIT_ARCH of the call.
        number: of the call.
        arguments: up to six; those that are missing are 0.
    """
    words = [number & _WORD, machine, 0, 0]
    for value in [*arguments, 0, 0, 0, 0, 0, 0][:6]:
        words += [value & _WORD, value >> 32 & _WORD]
    accumulator = at = 0
    for _ in range(len(program)):  # no jump goes back
        operation, if_so, if_not, operand = program[at]
        at += 1
        match operation:
            case 0x20:
                accumulator = words[operand // 4]
            case 0x54:
                accumulator &= operand
            case 0x05:
                at += operand
            case 0x15:
                at += if_so if accumulator == operand else if_not
            case 0x35:
                at += if_so if accumulator >= operand else if_not
            case 0x06:
                if operand == 0x7FFF0000:
                    return 0
                assert operand >> 16 == 5, "neither done nor an error"
                assert operand & 0xFFFF in errno.errorcode
                return operand & 0xFFFF
            case _:
                raise AssertionError(f"operation {operation:#x}")
    raise AssertionError("it comes to no end")
