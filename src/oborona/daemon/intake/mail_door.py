"""The door for reports by mail, and for mail to traps: a mail server delivers to it by LMTP, or by
SMTP.

A mail is acknowledged (250) once what it says is on the disk, and put off (451) where it can't be
written: the mail server keeps it and comes again, and what comes twice is written down once.  Mail
to an address that is none of this door's is put off, too: it was led here by mistake, and must not
be lost.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final

from aiosmtpd.smtp import SMTP

from oborona import secret, state_files
from oborona.config import IntakeSettings, Settings
from oborona.config.delivery import DeliverySettings
from oborona.daemon.intake.event_sink import EventSink
from oborona.daemon.intake.followed_traps import FollowedTraps
from oborona.daemon.intake.mail_events import (
    AddressRole,
    IntakeMailServices,
    MailEvents,
    ReceivedMail,
    mail_events,
)
from oborona.daemon.intake.reporters import LocalReporters
from oborona.doors.arguments import peer_text
from oborona.doors.delivery.entry_lookup import JournalTiming
from oborona.doors.delivery.handover import Handover
from oborona.doors.delivery.lmtp_receiver import LmtpConnection, LmtpReceiver
from oborona.doors.memory_budget import MemoryBudget
from oborona.doors.smtp.replies import SmtpReply, own_reply
from oborona.errors import StoreError
from oborona.journal.entry_finder import LazyEntryFinder
from oborona.stores.policy_folders import policy_folders
from oborona.telemetry.log import event

MOST_BYTES: Final = 64 * 1024 * 1024  # of a mail; Postfix's own limit (message_size_limit) is 10 MB
READ_BYTES: Final = 16 * 1024 * 1024  # of it that are looked into
CONNECTIONS: Final = 20
ROOM_BYTES: Final = 32 * 1024 * 1024  # of all that come in, in memory; the rest of them is in files
RECIPIENTS: Final = 100
IDLE_S: Final = 300.0
WITHIN_S: Final = 30.0  # that a mail may take to be written down; the mail server waits for minutes
ENTRY_S: Final = 2.0  # for the entry of a mail that was judged a moment ago

log = logging.getLogger("oborona.intake")


class ReportMailServer(LmtpReceiver):
    """Serves connections of one listening socket.

    Args:
        services: what mails are read with.
        sink: takes the events.
        entries: the journal, ours to close.
        name: ours.
        spool: folder for mails that do not stay in memory.
        allowed: networks whose clients may connect; empty: all.
    """

    def __init__(
        self,
        services: IntakeMailServices,
        sink: EventSink,
        entries: LazyEntryFinder,
        name: str,
        spool: Path,
        allowed: str = "",
    ) -> None:
        settings = DeliverySettings(
            idle_s=IDLE_S,
            max_message_bytes=MOST_BYTES,
            max_recipients=RECIPIENTS,
            max_connections=CONNECTIONS,
            deadline_s=WITHIN_S,
            journal_wait_s=0,
            allowed=allowed,
        )
        super().__init__(settings, name, spool, MemoryBudget(ROOM_BYTES), log)
        self._services = services
        self._sink = sink
        self._entries = entries

    async def drain(self, grace_s: float) -> None:
        """Accept no more, wait for sessions, cut what is left, and let the journal go."""
        await super().drain(grace_s)
        await self._entries.close()

    def _connection(self) -> ReportMailConnection:
        return ReportMailConnection(self)

    async def take(self, handed: Handover) -> list[SmtpReply]:
        """Write down what a mail says; return the answer for each recipient."""
        recipients = tuple(peer_text(recipient) for recipient in handed.recipients)
        raw = _head(handed.message.pieces(handed.message.header))
        letter = ReceivedMail(
            sender=peer_text(handed.envelope.sender),
            recipients=recipients,
            header=handed.message.header,
            raw=raw,
        )
        try:
            async with asyncio.timeout(WITHIN_S):
                events = await mail_events(self._services, letter)
                kept_by_role = {
                    role: await self._keep(letter, role, role_events)
                    for role, role_events in events.items()
                }
        except (StoreError, TimeoutError) as error:
            event(log, logging.WARNING, "a report is put off", error=error)
            return [_LATER] * len(recipients)
        except Exception:
            log.exception("fault in reading a report")
            return [_LATER] * len(recipients)
        return [self._answer(recipient, kept_by_role) for recipient in recipients]

    def _answer(self, recipient: str, kept_by_role: dict[AddressRole, bool]) -> SmtpReply:
        role = self._services.role(recipient)
        if role is None or role not in kept_by_role:
            self._sink.refuse("mail", "unknown address")
            event(
                log,
                logging.WARNING,
                "mail to an address that is none of reports",
                recipient=recipient,
            )
            return _ELSEWHERE
        return _TAKEN if kept_by_role[role] else _LATER

    async def _keep(self, letter: ReceivedMail, role: AddressRole, events: MailEvents) -> bool:
        """Write down what a mail says to one address; return whether all of it is."""
        if events.why:
            self._sink.refuse("mail", events.why)
        results = await asyncio.gather(*map(self._sink.take, events.events), return_exceptions=True)
        faults = [result for result in results if isinstance(result, BaseException)]
        for fault in faults:
            if not isinstance(fault, StoreError):
                raise fault
        event(
            log,
            logging.INFO,
            "report",
            role=role,
            sender=letter.sender,
            person=events.person,
            events=len(events.events),
            failed=len(faults),
            size=len(letter.raw),
            **({"why": events.why} if events.why else {}),
        )
        return not faults


class ReportMailConnection(LmtpConnection):
    """One connection, by LMTP or by SMTP as it begins."""

    _single = False  # one answer for all recipients, as SMTP has it

    async def smtp_LHLO(self, arg: str) -> None:  # noqa: N802 - the library's name
        """LMTP."""
        self._single = False
        await super().smtp_LHLO(arg)

    async def smtp_EHLO(self, arg: str) -> None:  # noqa: N802 - the library's name
        """SMTP."""
        self._single = True
        await SMTP.smtp_EHLO(self, arg)

    async def smtp_HELO(self, arg: str) -> None:  # noqa: N802 - the library's name
        """SMTP of old."""
        self._single = True
        await SMTP.smtp_HELO(self, arg)

    def _reply_octets(self, answers: list[SmtpReply]) -> bytes:
        """Return what the mail server is told: by SMTP, that all is taken, or else the worst."""
        if not self._single:
            return super()._reply_octets(answers)
        return max(answers, key=lambda answer: answer.code).wire


async def start_mail(
    settings: Settings, state: Path, keys: secret.SiteKeys, sink: EventSink, listener: socket.socket
) -> ReportMailServer:
    """Open the door; drain it in the end.

    Args:
        settings: of the site.
        state: folder of the stores.
        keys: of the site.
        sink: takes the events.
        listener: the socket; it stays the caller's.
    """
    intake = settings.intake
    traps = FollowedTraps(policy_folders(settings.paths))
    entries = LazyEntryFinder(state / state_files.JOURNAL)
    mail_services = IntakeMailServices(
        roles=address_roles(intake),
        traps=partial(traps.now, time.monotonic),
        entries=entries,
        reporters=LocalReporters(settings.site.networks, intake.person),
        expected=JournalTiming(retention_s=settings.journal.retention_hours * 3600, wait_s=ENTRY_S),
        key=keys.signature,
        clock=time.time,
    )
    server = ReportMailServer(
        mail_services,
        sink,
        entries,
        settings.site.name or socket.getfqdn(),
        state,
        settings.intake.allowed,
    )
    await server.start(listener)
    return server


def address_roles(intake: IntakeSettings) -> dict[str, AddressRole]:
    """Return what each address of reports is for."""
    return {
        address: role
        for role, named in (
            (AddressRole.LOOP, intake.report_loops),
            (AddressRole.HAM, intake.report_ham),
            (AddressRole.SPAM, intake.report_spam),
        )
        for address in named.lower().split()
    }


def _head(pieces: Iterable[bytes]) -> bytes:
    """Return as much of a mail as is looked into."""
    head, size = [], 0
    for piece in pieces:
        head.append(piece)
        size += len(piece)
        if size >= READ_BYTES:
            break
    return b"".join(head)[:READ_BYTES]


_TAKEN: Final = own_reply(250, "2.0.0", "Taken")
_LATER: Final = own_reply(451, "4.3.0", "Not now, try again later")
_ELSEWHERE: Final = own_reply(451, "4.3.5", "No reports are taken for this address")
