"""Who sends ordinary bulk and service mail, and what his mail looks like on its way.

Five ways, each with the client, HELO, envelope, headers and HTML that such mail has: a mailer for
many shops (clicks counted on a host of its own, a pixel, List-Unsubscribe with one click, two
signatures), a service for notices (HTML alone, one signature of its own), a shop's own server, a
program on a web server that signs nothing, and a mailing list.  Signatures have the form of real
ones and prove nothing: who judges this mail asks no DNS.
"""

from __future__ import annotations

import random
import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, formataddr
from html import escape
from pathlib import Path
from typing import Final

import msgspec

WHEN: Final = 1_779_999_000  # Unix seconds
READER: Final = "anna.berg@firm.example"
MARK: Final = "X-Generated"
_LINK: Final = re.compile(r"https?://[^\s<>\"]+")


class Shop(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes."""

    name: str
    domain: str


class GeneratedMail(msgspec.Struct, frozen=True, kw_only=True):
    """One message with its envelope."""

    kind: str
    language: str
    raw: bytes
    ip: str
    helo: str
    rdns: str
    sender: str


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The HTML that letters are framed in."""

    css: str  # of foundation-emails
    page: str  # of responsive-html-email-template

    def responsive(self, paragraphs: list[str], link: str, button: str) -> str:
        """Return a page in the table layout of responsive-html-email-template."""
        style = re.search(r"<p (style=\"[^\"]*\")>", self.page)
        opened = f"<p {style[1]}>" if style else "<p>"
        text = "".join(f"{opened}{escape(paragraph)}</p>\n" for paragraph in paragraphs)
        page = re.sub(r"<p [^>]*>Hi there,</p>", "@@", self.page)
        page = re.sub(r"<p [^>]*>[^<]*</p>", "", page).replace("@@", text)
        page = re.sub(r'href="http://htmlemail\.io"', f'href="{escape(link)}"', page, count=1)
        page = page.replace("Call To Action", escape(button))
        page = page.replace("http://htmlemail.io", escape(link))
        return re.sub(r"This is preheader text\.[^<]*", escape(paragraphs[0]), page)

    def foundation(self, paragraphs: list[str], link: str, button: str) -> str:
        """Return a page in the tables of foundation-emails, its style sheet in the head."""
        text = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in paragraphs)
        return (
            "<!DOCTYPE html>\n<html><head>"
            '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">'
            '<meta name="viewport" content="width=device-width">'
            f"<style>{self.css}</style></head><body>"
            '<table class="body"><tr><td class="center" align="center" valign="top"><center>'
            '<table align="center" class="container"><tbody><tr><td><table class="row"><tbody><tr>'
            f'<th class="small-12 large-12 columns first last">{text}'
            f'<table class="button"><tr><td><table><tr><td><a href="{escape(link)}">'
            f"{escape(button)}</a></td></tr></table></td></tr></table></th></tr></tbody></table>"
            "</td></tr></tbody></table></center></td></tr></table></body></html>"
        )


def look(places: Mapping[str, Path]) -> Look:
    """Read the frames of the packages."""
    css = places["foundation-emails"] / "package/dist/foundation-emails.css"
    page = places["responsive-html-email-template"] / "package/email-inlined.html"
    return Look(css=css.read_text("utf-8"), page=page.read_text("utf-8"))


def composed(
    way: str, shop: Shop, kind: str, language: str, subject: str, text: str, page: str, lot: int
) -> GeneratedMail:
    """Return a message as a sender of that way writes it.

    Args:
        way: mailer, service, server, program or list.
        shop: who writes.
        kind: of the mail.
        language: of its words.
        subject: of the mail.
        text: the words; empty: HTML alone.
        page: HTML; empty: a text alone.
        lot: what hosts, addresses and identifiers are drawn from.
    """
    drawn = random.Random(f"{kind} {language} {lot}")  # noqa: S311 - the same mail each time
    token = f"{drawn.getrandbits(64):016x}"
    message = EmailMessage(policy=SMTP.clone(cte_type="8bit" if lot % 3 else "7bit"))
    helo, sender, ip = _way(way, shop, token, drawn)
    if way == "mailer":
        click, top = f"click.{shop.domain}", f"{helo.partition('.')[2]}"
        page = _LINK.sub(lambda link: _clicked(link[0], click, token), page)
        page = page.replace(
            "</body>",
            f'<img src="https://{click}/o/{token}.gif" width="1" height="1" alt=""></body>',
        )
        text = _LINK.sub(lambda link: _clicked(link[0], click, token), text)
        message["List-Unsubscribe"] = f"<https://{click}/u/{token}>, <mailto:u-{token}@{top}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        message["Feedback-ID"] = f"{drawn.randrange(9999)}:{drawn.randrange(99)}:news:{top}"
    elif way == "service":
        message["Feedback-ID"] = f"1.eu-central-1.{token}:AmazonSES"
    elif way == "program":
        message["X-Mailer"] = "PHPMailer 6.9.1 (https://github.com/PHPMailer/PHPMailer)"
    elif way == "list":
        message["List-Id"] = f"{shop.name} <friends.{shop.domain}>"
        message["Precedence"] = "list"
        message["X-Mailman-Version"] = "3.3.10"
    message["From"] = formataddr((shop.name, f"{_box(way, kind)}@{shop.domain}"), "utf-8")
    message["To"] = READER
    message["Subject"] = subject
    message["Date"] = format_datetime(datetime.fromtimestamp(WHEN, UTC))
    message["Message-ID"] = f"<{token}@{helo if way == 'service' else shop.domain}>"
    message[MARK] = f"benchmarks/generated_mail.py; {kind}; {language}"
    event = _event(shop, subject, token) if kind == "meeting" else ""
    _fill(message, text, page, event, f"=_{token}")
    lines = [f"Return-Path: <{sender}>", _received(helo, ip, token)]
    lines += [
        _signature(domain, drawn)
        for domain in {
            "mailer": (shop.domain, helo.partition(".")[2]),
            "service": (shop.domain, "notices.example"),
            "server": (shop.domain,),
            "list": (shop.domain,),
        }.get(way, ())
    ]
    raw = "\r\n".join(lines).encode() + b"\r\n" + message.as_bytes()
    return GeneratedMail(
        kind=kind,
        language=language,
        raw=raw.replace(b"\r\n", b"\n"),
        ip=ip,
        helo=helo,
        rdns=helo,
        sender=sender,
    )


def _way(way: str, shop: Shop, token: str, drawn: random.Random) -> tuple[str, str, str]:
    box = READER.replace("@", "=")
    match way:
        case "mailer":
            host = drawn.choice(("mailhouse.example", "briefpost.example", "sendfleet.example"))
            return (
                f"o{drawn.randrange(2, 90)}.{host}",
                f"bounce+{token}-{box}@bounce.{shop.domain}",
                f"203.0.113.{drawn.randrange(2, 250)}",
            )
        case "service":
            return (
                f"a{drawn.randrange(9)}-{drawn.randrange(99)}.smtp-out.notices.example",
                f"{token}-000000@eu-central-1.notices.example",
                f"198.51.100.{drawn.randrange(2, 250)}",
            )
        case "list":
            sender = f"friends-bounces+{box}@{shop.domain}"
            return f"lists.{shop.domain}", sender, f"192.0.2.{drawn.randrange(2, 250)}"
        case "program":
            sender = f"www-data@web{drawn.randrange(1, 40)}.{shop.domain}"
            return sender.partition("@")[2], sender, f"192.0.2.{drawn.randrange(2, 250)}"
        case _:
            sender = f"info@{shop.domain}"
            return f"mail.{shop.domain}", sender, f"192.0.2.{drawn.randrange(2, 250)}"


def _box(way: str, kind: str) -> str:
    if way in ("mailer", "service"):
        return "newsletter" if kind in ("sale", "survey") else "no-reply"
    return "friends-request" if way == "list" else "info"


def _clicked(link: str, host: str, token: str) -> str:
    return f"https://{host}/c/{token}/{len(link)}"


def _fill(message: EmailMessage, text: str, page: str, event: str, boundary: str) -> None:
    if not page:
        message.set_content(text)
    elif not text:
        message.set_content(page, subtype="html")
    else:
        message.set_content(text)
        message.add_alternative(page, subtype="html")
    if event:
        message.add_alternative(event, subtype="calendar", params={"method": "REQUEST"})
    if message.is_multipart():
        message.set_boundary(boundary)


def _event(shop: Shop, subject: str, token: str) -> str:
    return (
        "BEGIN:VCALENDAR\r\nPRODID:-//Roundcube//Roundcube Calendar 3.5//EN\r\nVERSION:2.0\r\n"
        f"METHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:{token}@{shop.domain}\r\n"
        "DTSTAMP:20260528T201000Z\r\nDTSTART:20260611T140000Z\r\nDTEND:20260611T150000Z\r\n"
        f"SUMMARY:{subject}\r\nORGANIZER:mailto:info@{shop.domain}\r\n"
        f"ATTENDEE;RSVP=TRUE:mailto:{READER}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )


def _received(helo: str, ip: str, token: str) -> str:
    date = format_datetime(datetime.fromtimestamp(WHEN + 4, UTC))
    return (
        f"Received: from {helo} ({helo} [{ip}])\r\n\tby mx.firm.example (Postfix) with ESMTPS id "
        f"{token[:11].upper()}\r\n\tfor <{READER}>; {date}"
    )


def _signature(domain: str, drawn: random.Random) -> str:
    body, proof = (b64encode(drawn.randbytes(size)).decode() for size in (32, 256))
    folded = "\r\n\t ".join(proof[at : at + 72] for at in range(0, len(proof), 72))
    return (
        f"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d={domain}; s=s{WHEN % 7};\r\n"
        f"\tt={WHEN}; h=from:to:subject:date:message-id:mime-version;\r\n\tbh={body};\r\n"
        f"\tb={folded}"
    )
