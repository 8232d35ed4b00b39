"""What an account is told of its mail that a person threw away: one mail for all of it, to the
address that it logs in by.

Never to MAIL FROM, which a spammer chooses.  It has no sender in its envelope, and says that a
program wrote it (RFC 3834): nothing comes back, and nobody's holiday answers.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from pathlib import Path
from typing import Final, NamedTuple

from oborona.cli.outgoing.queue_entry import QueueEntry
from oborona.cli.programs import ProgramError, program, run
from oborona.cli.terminal import plain
from oborona.ident import to_text
from oborona.reputation.personal import mail_address

NAMED: Final = 20  # messages of one mail
LENGTH: Final = 60  # characters of a subject
SENDMAIL: Final = "/usr/sbin/sendmail"


class NoticesSent(NamedTuple):
    """Who was told of mail that was thrown away."""

    told: tuple[str, ...]  # addresses
    unknown: tuple[str, ...]  # logins that are no address
    failed: dict[str, str]  # by address: why the mail server did not take it


def address_of(login: str) -> str:
    """Return the mail address of an account; empty where its login is none."""
    address = mail_address(login)
    return address if address.isascii() and address.isprintable() else ""


def drop_notice(
    to: str, messages: Sequence[QueueEntry], *, site: str, contact: str, now: float
) -> bytes:
    """Return the mail to one account.

    Args:
        to: its address.
        messages: that were thrown away, at least one.
        site: name of this site.
        contact: whom to ask; empty = nobody is named.
        now: Unix seconds.
    """
    number = len(messages)
    what, verb = (f"{number} messages", "were") if number > 1 else ("A message", "was")
    lines = [
        f"{what} of {to} looked like spam, waited for a decision, and",
        f"{verb} not sent. Nobody has received {'them' if number > 1 else 'it'}.",
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
    mail["Subject"] = f"{what} of yours {verb} not sent"
    mail["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
    mail["Message-ID"] = make_msgid("dropped", domain=site)
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content("\n".join(lines) + "\n", cte="quoted-printable")
    return mail.as_bytes()


def tell_accounts(
    messages: Sequence[QueueEntry],
    folder: Path | None,
    *,
    blocked: Collection[str],
    site: str,
    contact: str,
) -> NoticesSent:
    """Tell each account, by this machine's `sendmail`.

    Args:
        messages: that were thrown away.
        folder: of main.cf, where Postfix has several instances.
        blocked: logins of banned accounts, in lower case: who reads them may be who sent the spam.
        site: name of this site.
        contact: whom to ask.

    Returns:
        Who was told, and who was not.
    """
    by_login: dict[str, list[QueueEntry]] = {}
    for one in messages:
        if one.login and not one.banned and one.login.lower() not in blocked:
            by_login.setdefault(one.login.lower(), []).append(one)
    told, unknown, failed = list[str](), list[str](), dict[str, str]()
    for login, of_account in by_login.items():
        to = address_of(login)
        if not to:
            unknown.append(login)
            continue
        raw = drop_notice(to, of_account, site=site, contact=contact, now=time.time())
        instance = ["-C", str(folder)] if folder is not None else []
        command = [program("sendmail") or SENDMAIL, *instance, "-i", "-f", "<>", "--", to]
        try:
            run(command, said=raw.replace(b"\r\n", b"\n").decode())
        except ProgramError as error:
            failed[to] = str(error)
        else:
            told.append(to)
    return NoticesSent(tuple(told), tuple(unknown), failed)


def _lines(message: QueueEntry) -> list[str]:
    queued, entry = message.queued, message.entry
    when = format_datetime(datetime.fromtimestamp(queued.since, UTC))
    to = ", ".join(queued.recipients[:2]) + (" ..." if len(queued.recipients) > 2 else "")
    subject = "" if entry is None else " ".join(plain(entry.subject).split())[:LENGTH]
    reference = "" if entry is None else f"  reference {to_text(entry.id)}"
    return [f"  {when}{reference}", f"  to {plain(to)}", f"  subject: {subject}", ""]
