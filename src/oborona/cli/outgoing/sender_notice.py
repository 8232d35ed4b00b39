"""What an account is told of its own mail that is held, or that a person threw away: one mail for
all of it, to the address that it logs in by.

Never to MAIL FROM, which a spammer chooses.  It has no sender in its envelope, and says that a
program wrote it (RFC 3834): nothing comes back, and nobody's holiday answers.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from enum import Enum
from typing import Final, NamedTuple

from oborona import state_files
from oborona.accounts.store.queue_holds import banned_logins
from oborona.cli.account.store import open_accounts
from oborona.cli.context import CliContext
from oborona.cli.terminal import plain
from oborona.daemon.site_name import site_name
from oborona.desk.outgoing.hold_queue import HoldQueue
from oborona.desk.outgoing.queue_entry import QueueEntry
from oborona.desk.postfix.instance import PostfixError
from oborona.desk.programs import ProgramError
from oborona.ident import to_text
from oborona.reputation.personal import mail_address

NAMED: Final = 20  # messages of one mail
LENGTH: Final = 60  # characters of a subject


class NoticeWords(NamedTuple):
    """What is said of one message, and of several."""

    subject: str
    one: str
    many: str


class NoticeKind(Enum):
    """What became of the messages."""

    HELD = NoticeWords(
        "{what} of yours {is_} held",
        "It looks like spam, or more than you usually send. Somebody will look at it: then it is\n"
        "sent, or you hear of it again. You need not send it once more.",
        "They look like spam, or are more than you usually send. Somebody will look at them: then\n"
        "they are sent, or you hear of them again. You need not send them once more.",
    )
    DROPPED = NoticeWords(
        "{what} of yours {was} not sent",
        "It looked like spam, and somebody has decided that it is. Nobody has received it.",
        "They looked like spam, and somebody has decided that they are. Nobody has received them.",
    )


class NoticesSent(NamedTuple):
    """Who was told."""

    told: Mapping[str, str]  # address, by login
    unknown: tuple[str, ...]  # logins that are no address
    failed: Mapping[str, str]  # by address: why the mail server did not take it


def address_of(login: str) -> str:
    """Return the mail address of an account; empty where its login is none."""
    address = mail_address(login)
    return address if address.isascii() and address.isprintable() else ""


def sender_notice(
    kind: NoticeKind,
    to: str,
    messages: Sequence[QueueEntry],
    *,
    site: str,
    contact: str,
    now: float,
) -> bytes:
    """Return the mail to one account.

    Args:
        kind: what became of its messages.
        to: its address.
        messages: at least one.
        site: name of this site.
        contact: whom to ask; empty = nobody is named.
        now: Unix seconds.
    """
    number = len(messages)
    what = f"{number} messages" if number > 1 else "A message"
    lines = [
        kind.value.many if number > 1 else kind.value.one,
        "",
        *(line for one in messages[:NAMED] for line in _lines(one)),
    ]
    if number > NAMED:
        lines += [f"and {number - NAMED} more.", ""]
    lines += ["If you did not write this, somebody has your password: change it."]
    if contact:
        lines += [f"Questions: {contact}"]
    mail = EmailMessage(policy=SMTP)
    mail["From"] = Address("Oborona", "postmaster", site)
    mail["To"] = Address(addr_spec=to)
    is_, was = ("are", "were") if number > 1 else ("is", "was")
    mail["Subject"] = kind.value.subject.format(what=what, is_=is_, was=was)
    mail["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
    mail["Message-ID"] = make_msgid("notice", domain=site)
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content("\n".join(lines) + "\n", cte="quoted-printable")
    return mail.as_bytes()


def tell_senders(
    context: CliContext,
    queue: HoldQueue,
    kind: NoticeKind,
    messages: Sequence[QueueEntry],
    *,
    told_already: Collection[str] = (),
) -> NoticesSent:
    """Tell each account, by the machine's mail server; not one that is banned, for who reads it may
    be who sent the spam.

    Args:
        context: of the site.
        queue: of the mail server.
        kind: what became of the messages.
        messages: of any accounts, or of none.
        told_already: logins in lower case that hear nothing more for now.

    Raises:
        StoreError: the file of accounts can't be read.
    """
    now = time.time()
    silent = {*told_already, *_banned(context, now)}
    by_login: dict[str, list[QueueEntry]] = {}
    for one in messages:
        if one.login and not one.banned and one.login.lower() not in silent:
            by_login.setdefault(one.login.lower(), []).append(one)
    told, unknown, failed = dict[str, str](), list[str](), dict[str, str]()
    site, contact = site_name(context.loaded), context.loaded.settings.site.contact
    for login, of_account in by_login.items():
        to = address_of(login)
        if not to:
            unknown.append(login)
            continue
        raw = sender_notice(kind, to, of_account, site=site, contact=contact, now=now)
        try:
            queue.hand_in(raw.replace(b"\r\n", b"\n"), to)
        except (PostfixError, ProgramError) as error:
            failed[to] = str(error)
        else:
            told[login] = to
    return NoticesSent(told, tuple(unknown), failed)


def _banned(context: CliContext, now: float) -> Collection[str]:
    if not (context.state / state_files.ACCOUNTS).exists():
        return ()
    with open_accounts(context) as store:
        return banned_logins(store.blocked(now), now)


def _lines(message: QueueEntry) -> list[str]:
    queued, entry = message.queued, message.entry
    when = format_datetime(datetime.fromtimestamp(queued.since, UTC))
    to = ", ".join(queued.recipients[:2]) + (" ..." if len(queued.recipients) > 2 else "")
    subject = "" if entry is None else " ".join(plain(entry.subject).split())[:LENGTH]
    reference = "" if entry is None else f"  reference {to_text(entry.id)}"
    return [f"  {when}{reference}", f"  to {plain(to)}", f"  subject: {subject}", ""]
