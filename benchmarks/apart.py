"""What it would cost to parse messages in a process of its own, confined as those that decode
pictures are: the round trip, beside parsing in place.

    python -m benchmarks.apart tests/golden/mails

`parse` is what strangers' octets go through in C and C++: MIME, charsets, HTML, languages. The
answer is the whole result, pickled, for the worker goes on with it; a worker would have to check
its shape as well, which is not counted. Time is CPU of both processes, and what a caller waits.
"""

from __future__ import annotations

import argparse
import os
import pickle
import socket
import statistics
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from oborona.daemon.confinement.kinds import ProcessKind, call_grants
from oborona.daemon.confinement.seccomp import install_filter
from oborona.message.parse import parse

ROUNDS: Final = 5
_LENGTH: Final = struct.Struct("=I")


def main() -> None:
    """Print the figures."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path)
    mails = [path.read_bytes() for path in sorted(asked.parse_args().folder.glob("*.eml"))]
    # and every codec is loaded, for both
    octets = [len(pickle.dumps(parse(mail), 5)) for mail in mails]
    here, there = socket.socketpair()
    child = os.fork()
    if child == 0:
        here.close()
        _serve(there)
    there.close()
    answers = [_ask(here, mail) for mail in mails]  # once without a clock
    in_place, apart, waited, busy = [], [], [], []
    for _ in range(ROUNDS):
        in_place.append(_cpu(lambda: [parse(mail) for mail in mails]))
        before, started = _cpu_of(child), time.perf_counter()
        apart.append(_cpu(lambda: [_ask(here, mail) for mail in mails]))
        waited.append(time.perf_counter() - started)
        busy.append(_cpu_of(child) - before)
    here.close()
    os.waitpid(child, 0)
    assert len(answers) == len(mails)

    def each(seconds: list[float]) -> float:
        return statistics.median(seconds) / len(mails) * 1e6

    sys.stdout.write(
        f"{len(mails)} messages, {statistics.mean(map(len, mails)):.0f} octets each, results of "
        f"{statistics.mean(octets):.0f}\n"
        f"in place            {each(in_place):6.0f} us of CPU a message\n"
        f"apart, caller       {each(apart):6.0f}\n"
        f"apart, process      {each(busy):6.0f}\n"
        f"more than in place  {each(apart) + each(busy) - each(in_place):6.0f}\n"
        f"waited              {each(waited):6.0f} us, one message at a time\n"
    )


def _serve(channel: socket.socket) -> None:
    install_filter(call_grants(ProcessKind.PICTURE, os.getpid()))
    while head := channel.recv(_LENGTH.size, socket.MSG_WAITALL):
        octets = channel.recv(_LENGTH.unpack(head)[0], socket.MSG_WAITALL)
        answer = pickle.dumps(parse(octets), 5)
        channel.sendall(_LENGTH.pack(len(answer)) + answer)
    os._exit(0)


def _ask(channel: socket.socket, octets: bytes) -> object:
    channel.sendall(_LENGTH.pack(len(octets)) + octets)
    length = _LENGTH.unpack(channel.recv(_LENGTH.size, socket.MSG_WAITALL))[0]
    return pickle.loads(channel.recv(length, socket.MSG_WAITALL))  # noqa: S301 - a measurement: a worker would decode into types


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _cpu_of(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


if __name__ == "__main__":
    main()
