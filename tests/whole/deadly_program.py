"""`oborona` with a fault of ours put in:  deadly_program.py [ARGUMENT...]

A worker that parses a message with a header "X-Deadly: HOW" dies over it, or hangs, as a fault in
native code or an endless loop would have it.
"""

import ctypes
import os
import re
import signal
import time
from collections.abc import Callable

from oborona.cli import main
from oborona.message.model import Message
from oborona.message.parse import parse as whole
from oborona.policy import scan

SLOW_S = 0.02  # so that others are in flight meanwhile


def segv() -> None:
    ctypes.string_at(0)


def spin() -> None:
    while True:
        pass


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    os._exit(3)


def parse(
    raw: bytes, *, truncated: bool, regions: tuple[str, ...], step: Callable[[], None]
) -> Message:
    deadly = re.search(rb"^X-Deadly: ?(\w+)", raw, re.MULTILINE)
    if deadly:
        time.sleep(SLOW_S)
        {b"segv": segv, b"spin": spin, b"kill": kill, b"leave": leave}[deadly[1]]()
    return whole(raw, truncated=truncated, regions=regions, step=step)


if __name__ == "__main__":
    setattr(scan, "parse", parse)  # noqa: B010 - where the scan takes it from
    main()
