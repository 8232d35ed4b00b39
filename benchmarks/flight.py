"""What it costs a message to be noted while it is judged:  flight.py [ROUNDS]

Processor time in µs a message, the same stand-in for a scan with and without a flight: a coroutine
that waits some twenty times, as for the DNS.
"""

import sys
import time
from collections.abc import Generator

import uvloop

from oborona.doors.raw_message import RawMessage
from oborona.session.cpu_meter import CpuMeter
from oborona.session.quarantine.scan_tracker import ScanTracker
from oborona.types import Client, Envelope

WAITS = 20
KILOBYTES = (3, 30, 300)


class Wait:
    def __await__(self) -> Generator[None]:
        yield


async def scan() -> int:
    for _ in range(WAITS):
        await Wait()
    return 1


async def measure(rounds: int) -> None:
    flights = ScanTracker()
    envelope = Envelope(
        client=Client(ip="192.0.2.1"),
        sender="ann@a.example",
        recipients=("bob@b.example",),
        queue_id="4XyZ1234",
    )
    for kilobytes in KILOBYTES:
        raw = b"Received: from a by b\r\n" * 40 + b"\r\n" + b"x" * 1024 * kilobytes
        message = RawMessage(raw=raw, headers=(), size=len(raw))
        best = [1e9, 1e9]
        for _ in range(5):
            for which in (0, 1):
                began = time.process_time()
                for _ in range(rounds):
                    if which:
                        await flights.begin(message, envelope).through(scan(), CpuMeter(2.0))
                    else:
                        await scan()
                best[which] = min(best[which], (time.process_time() - began) / rounds * 1e6)
        print(
            f"{kilobytes:4d} KiB: {best[0]:6.2f} µs without, {best[1]:6.2f} µs with: "
            f"{best[1] - best[0]:.2f} µs"
        )


uvloop.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
