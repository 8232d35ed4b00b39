"""The whole daemon as a filter of the quality benchmark: asked through its milter door, taught
through the store of people's word.

It runs as it ships, with an empty state, but refuses nothing, so that every message gets its score;
counters, reputations, rules, signatures and the content model work as in life, the DNS knows no
name, and pictures are not read.  Client, HELO and envelope are those that the message's own
Received, Return-Path and To tell (milterload.py).  All mail comes within minutes, whatever its
dates say, so windows of counters hold all of it.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Final

from benchmarks.labelled import Labelled
from benchmarks.milterload import ABORT, FINAL, OPTNEG, QUIT, Message
from benchmarks.servers import ROOT, oborona
from benchmarks.streams import Step
from oborona import secret, state_files
from oborona.feedback.label import LabelKind, LabelSource, LabelState
from oborona.feedback.label_extraction import NotLabelable, extract_label
from oborona.feedback.label_store import LabelStore
from oborona.message.shingles import Hasher

POLICY: Final = "[verdict]\nrefuse = false   # every message gets its score\n"
LINE: Final = 100.0  # [verdict] spam_score of the policy that ships
LEARNED_S: Final = 30.0  # that the daemon may take to learn a word
OPTIONS: Final = ord("O")
HEADER: Final = (ord("h"), ord("i"))  # at the end of all, and at a place


class Whole:
    """A daemon that has seen and learned nothing when a stream begins.

    Args:
        mail: of which streams are made.
        told: a file that gets a line for each message, by tabs: label, path, score and the rules
            that made it.
    """

    def __init__(self, mail: Sequence[Labelled], told: Path | None = None) -> None:
        self._mail = mail
        self._told = told

    def scores(self, steps: Sequence[Step]) -> list[float]:
        """Return its score for each step.

        What was taught is learned before the next message comes.
        """
        with tempfile.TemporaryDirectory(prefix="oborona-") as held:
            home = Path(held)
            home.chmod(0o755)
            policy = home / "policy.d"
            shutil.copytree(ROOT / "etc/policy.d", policy)
            (policy / "90-benchmark.toml").write_text(POLICY)
            settings = {"paths.policy": str(policy), "headers.reason": "full"}
            with (
                oborona(
                    home / "daemon",
                    transport="native",
                    workers=1,
                    pictures=False,
                    settings=settings,
                ) as server,
                LabelStore(home / "daemon/state" / state_files.FEEDBACK) as words,
                (self._told or Path(os.devnull)).open("w") as told,
            ):
                return list(self._run(steps, home, server.address, words, told))

    def _run(
        self, steps: Sequence[Step], home: Path, address: str, words: LabelStore, told: IO[str]
    ) -> Iterator[float]:
        keys = secret.load(home / "daemon/state")
        hasher, file = Hasher(keys.shingles), home / "message"
        for place, step in enumerate(steps):
            message = self._mail[step.message]
            file.write_bytes(message.raw)
            given = added(address, Message(str(file), place))
            yield (found := score(given, message.path))
            why = " ".join(given.get(b"x-mras-reason", b"").decode().split())
            told.write(f"{'spam' if message.spam else 'ham'}\t{message.path}\t{found:g}\t{why}\n")
            if place % 500 == 499:
                print(f"  {place + 1} of {len(steps)}", file=sys.stderr)
            for number, spam in step.taught:
                kind, source = (
                    (LabelKind.SPAM, LabelSource.COMPLAINT)
                    if spam
                    else (LabelKind.HAM, LabelSource.PARDON)
                )
                try:
                    word, _ = extract_label(
                        self._mail[number].raw,
                        kind,
                        source,
                        hasher=hasher,
                        key=keys.feedback,
                        now=time.time(),
                    )
                except NotLabelable:
                    continue
                [became] = words.add([word], now=time.time())
                _until_learned(words, became.id)


def _until_learned(words: LabelStore, ident: int) -> None:
    end = time.monotonic() + LEARNED_S
    while words.get(ident).state is LabelState.QUEUED:
        if time.monotonic() > end:
            raise TimeoutError(f"word {ident} was not learned in {LEARNED_S:g} s")
        time.sleep(0.005)


def score(given: Mapping[bytes, bytes], path: str) -> float:
    """Return the score in the header fields that a message is given.

    Raises:
        ValueError: there is none.
    """
    found = given.get(b"x-mras-score")
    if found is None:
        raise ValueError(f"{path}: no score was given")
    return float(found.split()[0])


def added(address: str, message: Message) -> dict[bytes, bytes]:
    """Return the header fields that a message is given, their names in lower case.

    Raises:
        ValueError: the daemon does not speak the protocol.
    """
    fields: dict[bytes, bytes] = {}
    with _door(address) as (sock, replies):
        sock.sendall(OPTNEG)
        command, body = next(replies)
        if command != OPTIONS:
            raise ValueError(f"negotiation was answered with {chr(command)!r}")
        flags = struct.unpack("!III", body[:12])[2]
        for plan in message.plan(flags):
            for octets, awaited in plan:
                sock.sendall(octets)
                if awaited is None:
                    continue
                for command, body in replies:
                    if command in HEADER:
                        name, value = body[4 * (command == HEADER[1]) :].split(b"\0")[:2]
                        fields[name.lower()] = value
                    elif command in FINAL or command == ord("y"):
                        break
        sock.sendall(ABORT + QUIT)
    return fields


@contextmanager
def _door(address: str) -> Iterator[tuple[socket.socket, Iterator[tuple[int, bytes]]]]:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(address)
        with sock.makefile("rb") as answers:
            yield sock, _replies(answers)


def _replies(answers: BufferedReader) -> Iterator[tuple[int, bytes]]:
    while head := answers.read(5):
        length, command = struct.unpack("!IB", head)
        yield command, answers.read(length - 1)
    raise ConnectionError("the daemon closed the connection")
