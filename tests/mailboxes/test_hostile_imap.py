"""An IMAP server that talks nonsense, is silent, or lacks what moves need."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from oborona.recheck.mailboxes.imap import ImapMailboxes
from oborona.recheck.mailboxes.imap_session import ImapServer
from oborona.recheck.mailboxes.located_copy import MoveGuard
from oborona.recheck.mailboxes.model import MOVING, MailboxItem, MoveOutcome

LETTER = MailboxItem(user="joe", ident="0ABCDEFGH0000", message_id="1@a", delivered=1e9)
HEADER = b"X-Mras-Id: 0ABCDEFGH0000.AAAA\r\nMessage-ID: <1@a>\r\n\r\n"
GREETING = b"* OK [CAPABILITY IMAP4rev1 MOVE UIDPLUS] hello\r\n"
Says = Callable[[bytes, bytes], bytes]


@contextmanager
def server(says: Says, *, greeting: bytes = GREETING) -> Iterator[int]:
    """Somebody at a port: `says` gets the tag and the command, and b"" hangs up."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(60)
    stopped = threading.Event()

    def serve(peer: socket.socket) -> None:
        with peer, suppress(OSError):
            peer.settimeout(60)
            peer.sendall(greeting)
            for line in peer.makefile("rb"):
                tag, _, command = line.strip().partition(b" ")
                said = says(tag, command)
                if not said:
                    return
                peer.sendall(said)

    def accept() -> None:
        threads = []
        while True:
            peer, _ = listener.accept()
            if stopped.is_set():
                peer.close()
                break
            threads.append(threading.Thread(target=serve, args=(peer,)))
            threads[-1].start()
        for one in threads:
            one.join(60)

    thread = threading.Thread(target=accept)
    thread.start()
    port = listener.getsockname()[1]
    try:
        yield port
    finally:
        stopped.set()
        socket.create_connection(("127.0.0.1", port), timeout=20).close()
        thread.join(120)
        listener.close()


def boxes(port: int, *, deadline_s: float = 20.0) -> ImapMailboxes:
    where = ImapServer("127.0.0.1", port, "none", "", "master", "secret", "*")
    return ImapMailboxes(where, MoveGuard(move_listed=True), connections=2, deadline_s=deadline_s)


def fine(tag: bytes, command: bytes) -> bytes:
    """Answer as a server does that has the letter in INBOX, unseen, and does whatever it is
    told.
    """
    word = command.upper()
    if word.startswith((b"SELECT", b"EXAMINE")):
        said = (
            b"* FLAGS (\\Seen)\r\n* OK [PERMANENTFLAGS (\\Seen \\*)] ok\r\n* 1 EXISTS\r\n* 1 "
            b"RECENT\r\n"
        )
    elif word.startswith(b"UID SEARCH"):
        said = b"* SEARCH 7\r\n"
    elif word.startswith(b"UID FETCH 7 (FLAGS)"):
        said = b"* 1 FETCH (UID 7 FLAGS (\\Recent %b))\r\n" % MOVING.encode()
    elif word.startswith(b"UID FETCH"):
        said = (
            b"* 1 FETCH (UID 7 FLAGS (\\Recent) BODY[HEADER.FIELDS (X-MRAS-ID "
            b"MESSAGE-ID)] {%d}\r\n%b)\r\n"
        ) % (len(HEADER), HEADER)
    elif word.startswith(b"CAPABILITY"):
        said = b"* CAPABILITY IMAP4rev1 MOVE UIDPLUS\r\n"
    elif word.startswith(b"LOGOUT"):
        said = b"* BYE\r\n"
    else:
        said = b""
    return said + tag + b" OK done\r\n"


def instead(pattern: bytes, said: bytes) -> Says:
    """Answer one command by something else; %T is its tag."""

    def says(tag: bytes, command: bytes) -> bytes:
        if re.match(pattern, command, re.IGNORECASE):
            return said.replace(b"%T", tag)
        return fine(tag, command)

    return says


@pytest.mark.parametrize(
    "greeting",
    [
        b"HTTP/1.1 400 Bad\r\n\r\n",
        b"\0\0\0\0\r\n",
        b"* BYE busy\r\n",
        b"* OK " + b"x" * 2_000_000 + b"\r\n",
        b"\r\n",
    ],
    ids=["another protocol", "zeros", "bye", "endless line", "empty"],
)
async def test_a_greeting_that_is_none(greeting: bytes) -> None:
    with server(fine, greeting=greeting) as port:
        imap = boxes(port)
        (done,) = await imap.move([LETTER], "INBOX", "Junk")
        assert done.outcome is MoveOutcome.BUSY
        assert len(done.say) <= 200
        await imap.close()


@pytest.mark.parametrize(
    ("command", "said", "outcome"),
    [
        (b"LOGIN", b"%T NO [UNAVAILABLE] later\r\n", MoveOutcome.BUSY),
        (
            b"LOGIN",
            b"%T NO [AUTHENTICATIONFAILED] no\r\n",
            MoveOutcome.BUSY,
        ),  # the master's password, for all we know
        (b"LOGIN", b"* BYE\r\n", MoveOutcome.BUSY),
        (b"EXAMINE", b"%T NO [NONEXISTENT] no such folder\r\n", MoveOutcome.UNABLE),
        (b"EXAMINE", b"%T NO [INUSE] locked\r\n", MoveOutcome.BUSY),
        (b"EXAMINE", b"%T BAD what\r\n", MoveOutcome.BUSY),
        (b"EXAMINE", b"", MoveOutcome.BUSY),
        (b"UID SEARCH", b"* SEARCH \xff\xfe x\r\n%T OK done\r\n", MoveOutcome.BUSY),
        (b"UID SEARCH", b"* SEARCH " + b"1 " * 100 + b"\r\n%T OK done\r\n", MoveOutcome.GONE),
        (b"UID SEARCH", b"%T NO [SERVERBUG] oh\r\n", MoveOutcome.BUSY),
        (b"UID FETCH", b"* 1 FETCH (UID\r\n%T OK done\r\n", MoveOutcome.BUSY),
        (
            b"UID FETCH",
            b"* 1 FETCH (UID 7 FLAGS (\\Seen) BODY[] {99999999999}\r\n",
            MoveOutcome.BUSY,
        ),
        (b"UID FETCH", b"* 1 FETCH (UID 7 FLAGS ((((\r\n%T OK done\r\n", MoveOutcome.BUSY),
        (b"UID FETCH", b"%T OK done\r\n", MoveOutcome.GONE),
        (
            b"SELECT",
            b"* OK [PERMANENTFLAGS (\\Seen)] ok\r\n* 1 EXISTS\r\n%T OK done\r\n",
            MoveOutcome.UNABLE,
        ),
        (b"SELECT", b"* 1 EXISTS\r\n%T OK done\r\n", MoveOutcome.UNABLE),
        (b"SELECT", b"%T NO read-only\r\n", MoveOutcome.BUSY),
        (b"UID STORE", b"%T NO no\r\n", MoveOutcome.BUSY),
        (b"UID MOVE", b"%T NO [OVERQUOTA] full\r\n", MoveOutcome.UNABLE),
        (b"UID MOVE", b"%T NO [LIMIT] later\r\n", MoveOutcome.BUSY),
        (b"UID MOVE", b"", MoveOutcome.BUSY),
    ],
)
async def test_nonsense_and_refusals(command: bytes, said: bytes, outcome: MoveOutcome) -> None:
    with server(instead(command, said)) as port:
        imap = boxes(port, deadline_s=20.0 if b"{9" not in said else 0.3)
        (done,) = await imap.move([LETTER], "INBOX", "Junk")
        assert done.outcome is outcome, done
        assert len(done.say) <= 200
        for task in list(imap._requests._running):
            task.cancel()
        await imap.close()


async def test_a_server_that_knows_no_way_to_move() -> None:
    capabilities = b"* CAPABILITY IMAP4rev1\r\n%T OK done\r\n"
    with server(instead(b"CAPABILITY", capabilities), greeting=b"* OK hello\r\n") as port:
        imap = boxes(port)
        (done,) = await imap.move([LETTER], "INBOX", "Junk")
        assert (done.outcome, done.say) == (
            MoveOutcome.UNABLE,
            "the mail server knows neither MOVE nor UIDPLUS",
        )
        await imap.close()


async def test_without_move_a_letter_is_copied_and_then_taken_away() -> None:
    heard: list[bytes] = []

    def says(tag: bytes, command: bytes) -> bytes:
        heard.append(command)
        if command.upper().startswith(b"CAPABILITY"):
            return b"* CAPABILITY IMAP4rev1 UIDPLUS\r\n%b OK done\r\n" % tag
        return fine(tag, command)

    with server(says, greeting=b"* OK hello\r\n") as port:
        imap = boxes(port)
        await imap.move([LETTER], "INBOX", "Junk")
        await imap.close()
    words = [
        command.split(b" ")[1].upper() for command in heard if command.upper().startswith(b"UID ")
    ]
    assert words[words.index(b"COPY") :][:3] == [b"COPY", b"STORE", b"EXPUNGE"]
    assert any(command.upper().startswith(b"UID EXPUNGE 7") for command in heard)
    assert not any(command.upper() == b"EXPUNGE" for command in heard)


async def test_no_login_is_the_users_affair_once_the_master_was_let_in() -> None:
    def says(tag: bytes, command: bytes) -> bytes:
        if b"nobody" in command:
            return b"%b NO [AUTHENTICATIONFAILED] no\r\n" % tag
        return fine(tag, command)

    nobody = MailboxItem(user="nobody", ident=LETTER.ident, delivered=1e9)
    with server(says) as port:
        imap = boxes(port)
        outcomes = [
            (await imap.look([one], "INBOX"))[0].outcome for one in (nobody, LETTER, nobody)
        ]
        assert outcomes == [MoveOutcome.BUSY, MoveOutcome.MOVED, MoveOutcome.UNABLE]
        await imap.close()


async def test_silence_has_an_end_and_the_secret_is_not_told() -> None:
    with server(instead(b"UID SEARCH", b"* OK still here\r\n")) as port:
        imap = boxes(port, deadline_s=0.2)
        done = await imap.move([LETTER, LETTER], "INBOX", "Junk")
        assert [one.outcome for one in done] == [MoveOutcome.BUSY] * 2
        assert "secret" not in str(done)
        again = await imap.move([LETTER], "INBOX", "Junk")
        assert "still on the way" in again[0].say
        for task in list(imap._requests._running):
            task.cancel()
        await imap.close()


async def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    imap = boxes(port)
    (done,) = await imap.look([LETTER], "INBOX")
    assert done.outcome is MoveOutcome.BUSY
    assert "refused" in done.say
    await imap.close()
