"""Doors that hand events in as fast as they can: `taking_program.py FILE`.

Each acknowledged one is a line on standard output.
"""

import asyncio
import sys
import time
from pathlib import Path

from oborona.feedback.events.event_writer import EventWriter
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent


async def main() -> None:
    async with EventWriter(Path(sys.argv[1])) as taking:

        async def door(number: int) -> None:
            for count in range(1_000_000):
                name = f"{number}.{count}"
                event = FeedbackEvent(
                    what=EventKind.COMPLAINT,
                    way=EventChannel.SIEVE,
                    time=time.time(),
                    message_id=name,
                    raw=b"x" * 2000,
                )
                receipt = await taking.take(event)
                sys.stdout.write(f"{receipt.id} {name}\n")
                sys.stdout.flush()

        await asyncio.gather(*map(door, range(50)))


if __name__ == "__main__":
    asyncio.run(main())
