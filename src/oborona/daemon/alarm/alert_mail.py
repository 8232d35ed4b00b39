"""An alert as a mail, handed to the mail server of the site by SMTP.

It has no sender in its envelope, and says that a program wrote it (RFC 3834): nothing comes back,
and nobody's holiday answers.
"""

from __future__ import annotations

import asyncio
import smtplib
from collections.abc import Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid

from oborona.config.address import InetAddress
from oborona.daemon.alarm.webhook import DeliveryFailed


def alert_mail(
    subject: str, text: str, *, sender: str, recipients: Sequence[str], now: float
) -> bytes:
    """Return the mail.

    Args:
        subject: what does not print is left out.
        text: of the body.
        sender: address in From.
        recipients: addresses.
        now: Unix seconds.
    """
    message = EmailMessage(policy=SMTP)
    message["From"] = f"Oborona <{sender}>"
    message["To"] = ", ".join(recipients)
    message["Subject"] = "".join(
        character if character.isprintable() else " " for character in subject
    )
    message["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
    message["Message-ID"] = make_msgid("alarm", domain=sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text, cte="quoted-printable")
    return message.as_bytes()


async def submit_mail(
    raw: bytes, recipients: Sequence[str], server: InetAddress, *, name: str, within_s: float
) -> None:
    """Hand a mail to the mail server.

    Args:
        raw: the mail.
        recipients: addresses.
        server: of the site.
        name: ours, for EHLO.
        within_s: seconds that each step may take.

    Raises:
        Undelivered: it was not taken for all recipients.
    """
    try:
        await asyncio.to_thread(_hand_in, raw, recipients, server, name, within_s)
    except smtplib.SMTPResponseException as error:
        words = (
            error.smtp_error.decode("utf-8", "replace")
            if isinstance(error.smtp_error, bytes)
            else error.smtp_error
        )
        raise DeliveryFailed(f"{error.smtp_code} {words}", again=error.smtp_code < 500) from error
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        raise DeliveryFailed(
            f"recipients refused: {error.recipients}", again=min(codes, default=0) < 500
        ) from error
    except (smtplib.SMTPException, OSError, ValueError) as error:
        raise DeliveryFailed(f"{type(error).__name__}: {error}") from error


def _hand_in(
    raw: bytes, recipients: Sequence[str], server: InetAddress, name: str, within_s: float
) -> None:
    with smtplib.SMTP(server.host, server.port, local_hostname=name, timeout=within_s) as smtp:
        refused = smtp.sendmail("", list(recipients), raw)
    if refused:
        raise smtplib.SMTPRecipientsRefused(refused)
