"""What a parser needs for the largest inputs it can get, of shapes that cost the most: one line for
each, CPU in seconds and memory in MB.

    python tests/fuzz/large.py TARGET [SHAPE ...]

Each input is given in a child of its own, whose memory is counted from the moment it is forked.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # started as a script
from oborona.message.pictures.collection import MAX_OCTETS  # noqa: E402
from tests.fuzz.seeds import seeds  # noqa: E402
from tests.fuzz.targets import TARGETS  # noqa: E402
from tests.fuzz.watched import most_memory  # noqa: E402

LARGEST: Final = 25 << 20  # octets: what a mail server lets through, mostly
TEXT: Final = (
    256 << 10
)  # characters of text, or octets of a page, that `Limits` hands on to the parsers of texts
OF_TEXT: Final = frozenset(
    {"page", "sheet", "links", "contacts", "normal", "passes", "words", "own", "letters", "card"}
)
SEEDS: Final = 5
_PLAIN: Final = (
    b"\0", b"\n", b" ", b"a", b"<", b"(", b'"', b"=", b"&", b"\xff", b"a ", b"a\n", b"\n\n", b"a.b ", b"a@b.example, ", b"=?utf-8?q?a?= ", b"x: y\n", b"x:\n ", b"a;b=c;",
    b"<a href=http://a.example/>a</a>", "\u0430\u0301".encode(), b"0 ", b"[{(", bytes(range(256)),
)  # fmt: skip
_ROOTS: Final = (
    b"Content-Type: text/plain\n\n", b"Content-Type: text/html\n\n", b"Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n",
    b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n", b"Content-Type: multipart/mixed; boundary=b\n\n", b"Content-Type: multipart/alternative; boundary=b\n\n",
    b"Content-Type: message/rfc822\n\n", (b"Content-Type: application/octet-stream; "
        b"name=a.zip\nContent-Transfer-Encoding: "
        b"base64\n\n"),
    b"Content-Type: application/ms-tnef; name=winmail.dat\n\n", b"Content-Type: text/plain\nContent-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n",
)  # fmt: skip
_BODIES: Final = (b"a ", b"<b>", b"--b\n\n", b"--b\nContent-Type: text/html\n\n<p>a", b"=3D", b"QUJD", b"QQ==\n", b"M8F]Y\n", b"PK\3\4", b"begin 644 a\n#8F]Y\n`\nend\n",
                   b"Content-Type: message/rfc822\n\n", b"http://a.example/", b"> a\n")  # fmt: skip


def shapes(target: str) -> Iterator[tuple[str, bytes, bytes]]:
    """Yield (name, beginning, what is repeated behind it) of inputs."""
    for piece in (*_PLAIN, *TARGETS[target].words, b"".join(TARGETS[target].words) or b"-"):
        yield repr(piece)[:60], b"", piece
    for number, seed in enumerate(islice(seeds(target), SEEDS)):
        yield f"seed {number}", b"", seed
        yield f"seed {number}, then zeros", seed, b"\0"
    if target == "message":
        for root in _ROOTS:
            for body in _BODIES:
                yield f"{root!r} {body!r}", b"From: a@b.example\n" + root, body


def cost(target: str, octets: bytes) -> tuple[float, int]:
    """Return the seconds of CPU and the octets of memory that an input takes.

    An error of the target's ends the process.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        before = most_memory(anew=True)
        clock, begun = time.monotonic(), time.process_time()
        TARGETS[target].holds(octets)
        spent = min(time.process_time() - begun, time.monotonic() - clock)  # see `watched.py`
        os.write(writing, json.dumps((spent, most_memory() - before)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    if not said:
        sys.exit("the child has died")
    seconds, memory = json.loads(said)
    return float(seconds), int(memory)


def main() -> None:
    """Print a line for each shape of one target, or for those that are named."""
    target, *wanted = sys.argv[1:]
    largest = MAX_OCTETS if target == "picture" else TEXT if target in OF_TEXT else LARGEST
    for name, start, piece in shapes(target):
        if wanted and name not in wanted:
            continue
        octets = (start + piece * (1 + (largest - len(start)) // len(piece)))[:largest]
        print(json.dumps((name, *cost(target, octets))), flush=True)


if __name__ == "__main__":
    main()
