"""What OpenSMTPD's filter does: each SMTP session told to the daemon over a milter connection, each
answer put in smtpd's words.

    connect → helo, ehlo → mail-from → rcpt-to… → data-line… → commit

A message goes to the daemon at its last line, and is given back with its edits; what became of it
is said at commit.  A daemon that gives no answer is asked no more in that SMTP session.

Known limits: a spam folder is a header (smtpd takes "junk" only before the content); a message
can't be thrown away, nor lose a recipient; recipients that smtpd itself refuses later count.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Final

from oborona.doors import rfc5322
from oborona.doors.arguments import peer_text
from oborona.doors.reply import MAX_TEXT_LINE, AddHeader
from oborona.errors import PeerError
from oborona.milter.opensmtpd.filter_lines import FilterLine, content, read, result
from oborona.milter.opensmtpd.milter_client import MilterAnswer, MilterClient

FILTERS: Final = ("connect", "helo", "ehlo", "mail-from", "rcpt-to", "data-line", "commit")
REPORTS: Final = ("link-connect", "link-disconnect", "link-auth", "tx-begin", "tx-reset")
PROCEED: Final = "proceed"
AWAY: Final = "reject|451 4.3.0 Service unavailable - try again later"
LOCAL: Final = "127.0.0.1"
JUNK: Final = AddHeader("X-Spam", "yes")  # what smtpd adds itself where it is told "junk" in time

_COMMANDS: Final = {b"helo": b"H", b"ehlo": b"H", b"mail-from": b"M", b"rcpt-to": b"R"}
_DECISIONS: Final = {
    b"c": PROCEED,
    b"a": PROCEED,
    b"d": PROCEED,
    b"r": "reject|550 5.7.1 Command rejected",
    b"t": "reject|451 4.7.1 Service unavailable - try again later",
}
_REGISTER: Final = "".join(
    f"register|{registration}\n"
    for registration in (
        *(f"filter|smtp-in|{phase}" for phase in FILTERS),
        *(f"report|smtp-in|{event}" for event in REPORTS),
        "ready",
    )
).encode("ascii")
_LOST: Final = (OSError, EOFError, TimeoutError, PeerError)

log = logging.getLogger("oborona.opensmtpd")


class OpenSmtpdFilter:
    """All SMTP sessions of one smtpd.

    Args:
        dial: opens a milter connection.
        write: takes what smtpd is to read.
        away: the decision on a message that the daemon does not answer for, `PROCEED` or `AWAY`.
        patience_s: seconds for one answer of the daemon.
    """

    def __init__(
        self,
        dial: Callable[[], Awaitable[MilterClient]],
        write: Callable[[bytes], None],
        away: str,
        patience_s: float,
    ) -> None:
        self.dial, self.write, self.away, self.patience_s = dial, write, away, patience_s

    async def run(self, lines: asyncio.StreamReader) -> None:
        """Serve until smtpd hangs up.

        Raises:
            PeerError: it does not speak the protocol.
        """
        sessions: dict[bytes, _Session] = {}
        try:
            async for whole in lines:
                if whole == b"config|ready\n":
                    self.write(_REGISTER)
                elif whole.endswith(b"\n") and not whole.startswith(b"config|"):
                    line = read(whole[:-1])
                    if line.session not in sessions:
                        sessions[line.session] = _Session(self)
                    sessions[line.session].take(line)
                    if line.what == b"link-disconnect":
                        sessions.pop(line.session).end()
        except ValueError as error:  # of the reader
            raise PeerError("a line without an end") from error
        finally:
            for session in sessions.values():
                session.end()


class _Session:
    """One SMTP session: what is known of it, and its milter connection."""

    def __init__(self, of: OpenSmtpdFilter) -> None:
        self._of = of
        self._link: MilterClient | None = None
        self._unlinked = of.away  # what is decided where there is none
        self._client = b"unknown\0U"  # as a milter is told of it
        self._macros = {"daemon_port": "", "client_ptr": ""}
        self._login = self._message = ""
        self._decided = ""  # of the message at hand, where nothing more is asked about it
        self._lines: list[bytes] = []
        self._asked: asyncio.Queue[FilterLine] = asyncio.Queue()
        self._work = asyncio.create_task(self._run())

    def take(self, line: FilterLine) -> None:
        """Take a line; those of a message wait for its last one."""
        if line.what == b"data-line" and line.rest != b".":
            self._lines.append(line.rest.removeprefix(b".") + b"\r\n")
        else:
            self._asked.put_nowait(line)

    def end(self) -> None:
        """The client is gone."""
        self._work.cancel()
        self._drop(PROCEED)

    async def _run(self) -> None:
        while True:
            line = await self._asked.get()
            if not line.token:
                self._note(line)
                continue
            try:
                async with asyncio.timeout(self._of.patience_s):
                    answer = await self._answer(line)
            except Exception as error:
                log.warning(
                    "no answer of the daemon: %r", error, exc_info=not isinstance(error, _LOST)
                )
                self._drop(self._of.away)
                answer = self._unasked(line)
            if line.what == b"data-line":
                self._lines.clear()
            self._of.write(answer)

    def _note(self, line: FilterLine) -> None:
        """Take a report."""
        fields = peer_text(line.rest)
        if line.what == b"link-connect" and fields.count("|") == 3:
            name, verified, source, ours = fields.split("|")
            self._client = _client(name if verified == "pass" else "unknown", source)
            self._macros = {"daemon_port": ours.rpartition(":")[2], "client_ptr": name}
        elif line.what == b"link-auth":
            user_first = line.version in (b"0.5", b"0.6")
            user, _, passed = fields.rpartition("|") if user_first else fields.partition("|")[::-1]
            self._login = user if passed == "pass" else self._login
        elif line.what == b"tx-begin":
            self._message = fields
        elif line.what == b"tx-reset":
            self._decided = ""
            self._lines.clear()
            if self._link is not None:
                self._link.tell(b"A")

    async def _answer(self, line: FilterLine) -> bytes:
        if line.what == b"connect":
            self._link = await self._of.dial()
            answer = await self._link.ask(b"C", self._client, **self._macros)
            if answer.letter == b"a":
                self._drop(PROCEED)
            return result(line, _decision(answer).replace("reject", "disconnect"))
        if line.what == b"mail-from":
            self._decided = ""
        if self._link is None or self._decided or line.what == b"commit":
            return self._unasked(line)
        if line.what == b"data-line":
            return content(line, await self._judge(self._link))
        argument = (
            peer_text(line.rest) if line.what in (b"helo", b"ehlo") else f"<{peer_text(line.rest)}>"
        )
        answer = await self._link.ask(
            _COMMANDS[line.what], f"{argument}\0".encode(), auth_authen=self._login
        )
        if answer.letter == b"a":
            self._decided = PROCEED
        return result(line, _decision(answer))

    async def _judge(self, link: MilterClient) -> bytes:
        """Have the message judged; return it with its edits."""
        raw = b"".join(self._lines)
        first = next(rfc5322.header_fields(raw), None)
        ours = 0  # bytes of smtpd's own Received, which no milter is shown
        if first and first.name == b"Received" and self._message.encode() in first.value:
            ours = first.end
        answer, edits = await link.message(raw[ours:], self._message)
        self._decided = _decision(answer)
        if answer.letter == b"d" or any(
            edit.name == "X-Spam-Flag" for edit in edits if isinstance(edit, AddHeader)
        ):
            edits.append(JUNK)
        return rfc5322.with_edits(raw, edits)  # none of them counts Received

    def _unasked(self, line: FilterLine) -> bytes:
        """Return the answer where the daemon is not asked, or gives none."""
        decision = self._decided or (PROCEED if self._link else self._unlinked)
        if line.what == b"data-line":
            return content(line, b"".join(self._lines))
        if line.what == b"connect":
            decision = decision.replace("reject|451", "disconnect|421")
        return result(line, decision)

    def _drop(self, decision: str) -> None:
        """Ask the daemon no more; from here on this is what is decided."""
        self._unlinked = decision
        if self._link is not None:
            self._link.close()
            self._link = None


def _client(name: str, source: str) -> bytes:
    """Return a client as a milter is told of it."""
    if source.startswith("unix:"):  # its sendmail: a program of this machine, as Postfix shows it
        source = f"{LOCAL}:0"
        name = "localhost"
    address, _, port = source.rpartition(":")
    try:
        ip = ip_address(address.strip("[]").removeprefix("IPv6:"))
        return f"{name}\0{ip.version}".encode() + int(port).to_bytes(2, "big") + f"{ip}\0".encode()
    except (ValueError, OverflowError):
        return f"{name}\0U".encode()


def _decision(answer: MilterAnswer) -> str:
    """Return an answer of the daemon in smtpd's words."""
    if answer.letter == b"y":  # 550-5.7.1 one line, 550 5.7.1 and the last
        lines = answer.data.rstrip(b"\0").decode("ascii", "replace").split("\r\n")
        words = " ".join(
            [f"{lines[0][:3]} {lines[0][4:]}", *(rest[len("550 5.7.1 ") :] for rest in lines[1:])]
        )
        return f"reject|{words[:MAX_TEXT_LINE]}"
    if answer.letter not in _DECISIONS:
        raise PeerError(f"an answer that is none: {answer.letter!r}")
    return _DECISIONS[answer.letter]
