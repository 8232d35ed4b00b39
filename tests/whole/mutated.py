"""Real mail, damaged in every way that comes to mind, from hostile clients, through one running
daemon: what must hold, and how much of it there was.

    python -m tests.whole.mutated 200000 [--clients 6] [--seed 1]

Of every message: an answer within the time that Postfix waits, and our header on what is let in.
Of one in a hundred, which is GTUBE or an honest letter: the right answer.  Of the daemon: no
process died, no fault in the log, no descriptor kept, memory as it was.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from oborona.config.address import parse_address
from oborona.doors.rfc5322 import header_fields
from tests.letters import GTUBE, corpus
from tests.peers.mail_server import MailServer
from tests.peers.oborona import Oborona
from tests.whole.gate import LETTER

GOLDEN: Final = Path(__file__).parents[1] / "golden"
LARGEST: Final = 400_000  # octets of one message
CHUNK: Final = 65_535
SLOWEST_S: Final = 25.0  # Postfix gives up on a command after 30 s
PROBE_EVERY: Final = 100
PER_CONNECTION: Final = 5
FAULTS: Final = re.compile(
    r"Traceback|msg=fault |fault in |process (?:died|ended|was killed)|Exception"
)
PIECES: Final = (
    b"\0", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\r\n.\r\n", b" ", b"\xff\xfe", b"=?utf-8?b?", b"?=", b"=?utf-7?q?+ADw-?=", b"<" * 200, b"(" * 300, b'"', b"--", b"\r\n--b\r\n",
    "\ufdfa".encode() * 500, "\u0430\u0301".encode() * 100, b"\xe2\x80\xae", b"=" * 400, b"%" * 100, b"http://" + b"a." * 120 + b"example/", b"<div>" * 400, b"<!--", b"&#x", b"@" * 100,
    b"Content-Type: multipart/mixed; boundary=b\r\n", b"Content-Transfer-Encoding: base64\r\n", b"Content-Type: message/rfc822\r\n\r\n", b"X-Mras: Ok\r\n", b"Received: from a by b\r\n" * 40,
    b"DKIM-Signature: v=1; d=a.example; s=s; b=\r\n", b"Authentication-Results: mx.test; dmarc=pass\r\n", b"From: x <y@z.example>\r\n", b"begin 644 a\r\n", b"PK\3\4", b"%PDF-1.7\n", b"x" * 5000,
)  # fmt: skip
HELOS: Final = (
    "client.test",
    "[192.0.2.1]",
    "localhost",
    "a" * 255,
    "x\x7fy",
    "я.example",
    "-",
    "mx.test",
    "a..b",
)
PATHS: Final = (
    "<a@b.test>", "<>", "<@@>", "<" + "a" * 500 + "@b.test>", "a@b", '<"a b"@c.test>', "<я@пример.example>", "<%n%s@b.test>", "<a@[192.0.2.1]>", "<a@b.test> SIZE=9999999999", "<\\>", "<a@b@c.test>",
)  # fmt: skip
ADDRESSES: Final = (
    "192.0.2.9",
    "198.51.100.77",
    "2001:db8::1",
    "127.0.0.1",
    "10.1.2.3",
    "0.0.0.0",
    "::",
)


class Said(NamedTuple):
    """What one client heard."""

    answers: Counter[str]
    wrong: list[str]
    slowest_s: float


def originals() -> list[bytes]:
    """Return the messages to damage."""
    mails = [
        file.read_bytes()
        for place in ("mails/*.eml", "torture/*.txt")
        for file in sorted(GOLDEN.glob(place))
    ]
    return mails + [letter.raw for letter in corpus(600, seed=3)]


def damaged(raw: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Return a message with some of its octets changed, cut, repeated, put in or taken from
    another.
    """
    found = bytearray(raw[:LARGEST])
    for _ in range(chance.choice((1, 1, 2, 3, 5, 8, 20))):
        place = chance.randrange(len(found) + 1)
        length = chance.choice((1, 2, 5, 20, 100, 1000))
        match chance.randrange(8):
            case 0:
                found[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del found[place : place + length]
            case 2:
                found[place:place] = found[place : place + length] * chance.choice((1, 2, 30))
            case 3 | 4:
                found[place:place] = chance.choice(PIECES) * chance.choice((1, 1, 1, 3, 30))
            case 5:
                other = chance.choice(others)
                start = chance.randrange(len(other) + 1)
                found[place:place] = other[start : start + chance.choice((10, 300, 5000))]
            case 6:
                found[place : place + length] = bytes(chance.randrange(256) for _ in range(length))
            case _:
                del found[place:]
    return bytes(found[:LARGEST])


def _parts(raw: bytes) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return header and body as a mail server hands them over."""
    headers, end = [], 0
    for field in header_fields(raw):
        name, _, value = raw[field.start : field.end].partition(b":")
        headers.append(
            (name.strip().replace(b"\0", b""), value.rstrip(b"\r\n").replace(b"\0", b" "))
        )
        end = field.end
    return headers, raw[end:].removeprefix(b"\r\n")


def _one(
    client: MailServer, raw: bytes, chance: random.Random, *, hostile: bool
) -> tuple[str, bool]:
    """Send one message; return the answer, and whether our header came with it."""
    pick: Callable[[Sequence[str]], str] = chance.choice if hostile else lambda known: known[0]
    client.macros(b"M", mail_addr="a@b.test")
    for said in (client.mail(*pick(PATHS).split(" ")), client.rcpt(pick(PATHS))):
        if said is not None and said[0] not in b"c":
            client.abort()
            return said[0].decode(), True
    headers, body = _parts(raw)
    client.content(headers, [body[start : start + CHUNK] for start in range(0, len(body), CHUNK)])
    edits, letter, words = client.end()
    if letter == b"y" and words.startswith(b"4"):  # put off, in words of ours
        letter = b"t"
    ours = any(
        data.removeprefix(b"\0\0\0\0").startswith((b"X-Mras\0", b"\0\0\0\1X-Mras\0"))
        or b"X-Mras\0" in data
        for _, data in edits
    )
    return letter.decode(), ours


def speak(address: str, count: int, seed: int) -> Said:
    """Be one client after another, for so many messages."""
    chance, mails = random.Random(seed), originals()
    said = Said(Counter(), [], 0.0)
    slowest, done = 0.0, 0
    while done < count:
        with MailServer(parse_address(address)) as client:
            client.sock.settimeout(SLOWEST_S * 2)
            client.macros(b"C", j="mx.test", client_addr="192.0.2.9")
            probe = done // PER_CONNECTION % (PROBE_EVERY // PER_CONNECTION) == 0
            ip = ADDRESSES[1] if probe else chance.choice(ADDRESSES)
            first = client.connect("client.test", ip)
            if first is not None and first[0] not in b"c":
                said.answers["refused client"] += 1
                done += 1
                continue
            client.helo(HELOS[0] if probe else chance.choice(HELOS))
            for place in range(min(PER_CONNECTION, count - done)):
                kind = ("gtube", "honest")[place] if probe and place < 2 else ""
                raw = {"gtube": LETTER + GTUBE.encode() + b"\r\n", "honest": LETTER}.get(
                    kind
                ) or damaged(chance.choice(mails), mails, chance)
                began = time.monotonic()
                try:
                    letter, ours = _one(client, raw, chance, hostile=not kind)
                except (EOFError, OSError) as error:
                    said.wrong.append(f"seed {seed}, message {done}: {error!r}")
                    done += 1
                    break
                slowest = max(slowest, time.monotonic() - began)
                said.answers[letter] += 1
                if letter in "ca" and not ours:
                    said.wrong.append(f"seed {seed}, message {done}: let in without our header")
                if (kind == "gtube" and letter in "ca") or (
                    kind == "honest" and letter not in "cat"
                ):
                    said.wrong.append(f"seed {seed}, message {done}: {kind} was answered {letter}")
                done += 1
    return said._replace(slowest_s=slowest)


class Trial(NamedTuple):
    """What became of it all."""

    answers: Counter[str]
    wrong: list[str]
    slowest_s: float
    took_s: float
    faults: list[str]
    died: int
    descriptors: tuple[int, int]
    memory_kb: tuple[int, int]

    @property
    def problems(self) -> list[str]:
        """All that must not be."""
        found = [*self.wrong[:10], *self.faults[:10]]
        if self.slowest_s > SLOWEST_S:
            found.append(f"an answer took {self.slowest_s:.1f} s")
        if self.died:
            found.append(f"{self.died} processes died")
        if self.descriptors[1] > self.descriptors[0] + 20:
            found.append(
                f"descriptors of a worker: {self.descriptors[0]}, then {self.descriptors[1]}"
            )
        return found


def trial(count: int, clients: int, seed: int) -> Trial:
    """Put so many messages through a daemon of its own, with the policy that ships."""
    with Oborona(
        {"worker.processes": 2, "site.name": "mx.test", "recheck.enabled": "false"}
    ) as daemon:
        workers = _workers(daemon)
        share = [count // clients + (number < count % clients) for number in range(clients)]
        with multiprocessing.get_context("fork").Pool(clients) as pool:
            pool.starmap(
                speak, [(daemon.milter, 20, seed + 1000 + number) for number in range(clients)]
            )  # warm
            before, began = _held(workers), time.monotonic()
            said = pool.starmap(
                speak,
                [
                    (daemon.milter, each, seed * 10_000 + number)
                    for number, each in enumerate(share)
                ],
            )
        took, after = time.monotonic() - began, _held(workers)
        log = daemon.log()
        now = _workers(daemon)
    return Trial(
        answers=sum((one.answers for one in said), Counter()),
        wrong=[wrong for one in said for wrong in one.wrong],
        slowest_s=max(one.slowest_s for one in said),
        took_s=took,
        faults=[line for line in log.splitlines() if FAULTS.search(line)],
        died=len(now) - len(workers),
        descriptors=(before[0], after[0]),
        memory_kb=(before[1], after[1]),
    )


def _workers(daemon: Oborona) -> list[int]:
    return [
        int(pid)
        for pid in re.findall(r'msg="process started" process=worker-\d child=(\d+)', daemon.log())
    ]


def _held(workers: Sequence[int]) -> tuple[int, int]:
    """Return the most descriptors, and the most memory, that one of them has."""
    descriptors = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in workers]
    memory = [
        int(found[1])
        for pid in workers
        if (found := re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text()))
    ]
    return max(descriptors), max(memory)


def main() -> int:
    """Run it and print what became of it."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("messages", type=int)
    asked.add_argument("--clients", type=int, default=6)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    found = trial(given.messages, given.clients, given.seed)
    print(f"{sum(found.answers.values())} messages in {found.took_s:.0f} s: {dict(found.answers)}")
    print(
        f"slowest answer {found.slowest_s:.2f} s; descriptors {found.descriptors}; RSS of "
        f"a worker {found.memory_kb} kB"
    )
    print(
        f"{len(found.wrong)} wrong answers, {len(found.faults)} faults in the log, "
        f"{found.died} processes died"
    )
    for problem in found.problems:
        print(problem[:300])
    return 1 if found.problems else 0


if __name__ == "__main__":
    sys.exit(main())
