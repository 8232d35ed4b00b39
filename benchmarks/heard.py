"""What a person waits for while Dovecot tells of a move: milliseconds for each message, beside the
same Dovecot that tells nothing.

    python -m benchmarks.heard [--messages 200] [--runs 5]

A real Dovecot with the shipped files, the intake as a process, and one IMAP client that moves all
messages of its inbox in one command, or marks them read. Rows: messages as most are, and large
ones; told, each written to the disk before the next; left in the spool, while the intake is away;
and read, which nobody waits for to be written. All of them share the machine's cores. Medians of
the runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from oborona.counter_load.processes import cpu_s
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.dovecot_feedback import FeedbackDovecot
from tests.peers.intake import DOMAIN, Intake

LINE: Final = b"Shall we meet at noon, as last week, or would you rather have it another day?\r\n"
SIZES: Final = {"4 KB": 4_000, "200 KB": 200_000}
USER: Final = "joe"


class Times(NamedTuple):
    """Milliseconds a message."""

    moved: float
    read: float


def main() -> None:
    """Run all, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    print(
        "| message | nobody told, ms | told, ms | in the spool, ms | read, nobody told, "
        "ms | read, told, ms |"
    )
    print("|---|---|---|---|---|---|")
    for name, size in SIZES.items():
        with Dovecot([USER]) as silent:
            plain = median(
                [
                    measure(silent, [f"{n}" for n in range(asked.messages)], size)
                    for _ in range(asked.runs)
                ]
            )
        with FeedbackDovecot([USER]) as telling:
            with Intake({"intake.listen": f"unix:{telling.socket}"}) as intake:
                idents = iter(range(1, asked.messages * asked.runs * 2))
                told = median(
                    [
                        measure(
                            telling,
                            [intake.sign(next(idents)) for _ in range(asked.messages)],
                            size,
                        )
                        for _ in range(asked.runs)
                    ]
                )
                lost = telling.log().count("Connection timed out")
                written = len(intake.events())
                assert intake.process is not None
                pid = intake.process.pid
                (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                cpu_ms = cpu_s(int(child)) / written * 1000
            away = median(
                [
                    measure(telling, [f"{n}" for n in range(asked.messages)], size)
                    for _ in range(asked.runs)
                ]
            )
        print(
            f"| {name} | {plain.moved:.2f} | {told.moved:.2f} | {away.moved:.2f} | "
            f"{plain.read:.2f} | {told.read:.2f} |"
            f"  {written} events, {lost} connections of 5 ms timed out, {cpu_ms:.2f} ms of CPU "
            f"for each",
            flush=True,
        )


def measure(dovecot: Dovecot, idents: Sequence[str], size: int) -> Times:
    """Return what marking read, then moving, takes for each of some messages."""
    import imapclient  # noqa: PLC0415 - after the arguments are read

    for ident in idents:
        head = f"X-Mras-Id: {ident}\r\nMessage-ID: <{ident}@a.example>\r\nSubject: Noon\r\n\r\n".encode()
        dovecot.deliver(head + LINE * (size // len(LINE)), f"{USER}@{DOMAIN}")
    with imapclient.IMAPClient("127.0.0.1", port=dovecot.imap_port, ssl=False) as client:
        client.login(USER, PASSWORD)
        client.select_folder("INBOX")
        found = client.search()
        started = time.perf_counter()
        client.add_flags(found, ["\\Seen"], silent=True)
        read = time.perf_counter() - started
        started = time.perf_counter()
        client.move(found, "Junk")
        moved = time.perf_counter() - started
        client.select_folder("Junk")
        client.delete_messages(client.search(), silent=True)
        client.expunge()
    return Times(moved / len(idents) * 1000, read / len(idents) * 1000)


def median(times: Sequence[Times]) -> Times:
    """Return the median of each."""
    return Times(*(statistics.median(column) for column in zip(*times, strict=True)))


if __name__ == "__main__":
    main()
