"""Good bulk and service mail in fifteen languages, made from templates, to measure loss by.

    python benchmarks/generated_mail.py --out DIR
    python benchmarks/sources.py --mail DIR --missed FILE

Notices of accounts, shops and mailing lists are the templates and translations of the packages that
generated/packages.py names, fetched by pip and npm and checked by SHA-256.  Orders, invoices,
parcels, sales, statements, appointments, letters of schools, surveys, answers of a support,
sign-ins, failed payments, courses, a bank's loans and invitations are generated/letters.tsv, framed
in HTML of two of these packages.  generated/senders.py has who sends them, and how.  Each message
says in X-Generated what it is.  The same mail every time.

It tells what is lost of mail that is like this, and nothing of what is caught.  No message of it is
anybody's: what real shops do besides is not in it.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a script, from anywhere
from benchmarks.generated.notices import LANGUAGES, TemplateText, texts  # noqa: E402
from benchmarks.generated.packages import fetch  # noqa: E402
from benchmarks.generated.senders import (  # noqa: E402
    MARK,
    READER,
    WHEN,
    GeneratedMail,
    Look,
    composed,
    look,
)
from benchmarks.generated.shops import shop_of, values_of  # noqa: E402
from benchmarks.sources import COLUMNS  # noqa: E402

LETTERS: Final = ROOT / "benchmarks/generated/letters.tsv"
BOUNCE: Final = """\
Return-Path: <>
Received: by {host} (Postfix) id 4C1D03F0A2; Thu, 28 May 2026 20:10:04 +0000 (UTC)
Date: Thu, 28 May 2026 20:10:00 +0000 (UTC)
From: MAILER-DAEMON@{host} (Mail Delivery System)
Subject: Undelivered Mail Returned to Sender
To: {reader}
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="4C1D03F0A2.1/{host}"
Message-Id: <20260528201000.4C1D03F0A2@{host}>
{mark}: benchmarks/generated_mail.py; bounce; {language}

This is a MIME-encapsulated message.

--4C1D03F0A2.1/{host}
Content-Description: Notification
Content-Type: text/plain; charset=utf-8

This is the mail system at host {host}.

I'm sorry to have to inform you that your message could not
be delivered to one or more recipients. It's attached below.

                   The mail system

<sale@{domain}>: user unknown

--4C1D03F0A2.1/{host}
Content-Description: Delivery report
Content-Type: message/delivery-status

Reporting-MTA: dns; {host}

Final-Recipient: rfc822; sale@{domain}
Action: failed
Status: 5.1.1
Diagnostic-Code: x-unix; user unknown

--4C1D03F0A2.1/{host}
Content-Description: Undelivered Message Headers
Content-Type: text/rfc822-headers

From: Anna Berg <{reader}>
To: sale@{domain}
Subject: Tablecloth
Message-ID: <5d3f1c@firm.example>

--4C1D03F0A2.1/{host}--
"""
WAYS: Final = {
    "order": ("mailer", "service", "server", "program"),
    "invoice": ("service", "server", "program", "mailer"),
    "parcel": ("mailer", "service", "server", "mailer"),
    "sale": ("mailer", "mailer", "mailer", "server"),
    "statement": ("service", "server", "mailer", "server"),
    "visit": ("service", "program", "server", "mailer"),
    "school": ("program", "server", "server", "mailer"),
    "survey": ("mailer", "service", "mailer", "service"),
    "ticket": ("server", "service", "program", "server"),
    "security": ("service", "server", "server", "mailer"),
    "unpaid": ("service", "mailer", "server", "program"),
    "course": ("mailer", "server", "program", "mailer"),
    "loan": ("mailer", "service", "mailer", "server"),
    "meeting": ("server", "service", "server", "service"),
}
"""Who sends each kind: one message for each."""


def main() -> None:
    """Write the mail and its index."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder, made or added to")
    parser.add_argument("--packages", type=Path, help="where they are kept; default: OUT/packages")
    options = parser.parse_args()
    places = fetch(options.packages or options.out / "packages")
    frames = look(places)
    mail = [*letters(frames), *bounces()]
    for language in LANGUAGES:
        values = values_of(language)
        mail.extend(_noticed(text) for text in texts(places, values) if text.language == language)
    write(options.out, mail)
    print(f"{len(mail)} messages")


def write(folder: Path, mail: Iterable[GeneratedMail]) -> None:
    """Write messages and their index, as benchmarks/sources.py reads it."""
    (folder / "mail").mkdir(parents=True, exist_ok=True)
    with (folder / "index.tsv").open("w", newline="") as file:
        index = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE, lineterminator="\n")
        index.writerow((*COLUMNS, "date", "kind", "language"))
        for number, message in enumerate(mail):
            path = Path("mail", f"{number:04}-{message.language}-{message.kind}.eml")
            (folder / path).write_bytes(message.raw)
            way = (message.ip, message.helo, message.rdns, message.sender, WHEN)
            index.writerow((path, "ham", "generated", *way, message.kind, message.language))


def letters(frames: Look) -> Iterator[GeneratedMail]:
    """Yield the letters of letters.tsv, each sent in several ways."""
    with LETTERS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        kind, language = row["kind"], row["language"]
        for lot, way in enumerate(WAYS[kind]):
            values = values_of(language, lot)
            subject = row["subject"].format_map(values)
            paragraphs = [part.format_map(values) for part in row["text"].split("//")]
            link, shop = values["link"], shop_of(language)
            words = [part.replace(link, "").strip() for part in paragraphs if part != link]
            framed = frames.responsive if lot % 2 else frames.foundation
            page = "" if way == "program" else framed(words, link, shop.name)
            text = "" if way == "service" and lot % 2 else "\n\n".join(paragraphs)
            yield composed(way, shop, kind, language, subject, text, page, lot)


def bounces() -> Iterator[GeneratedMail]:
    """Yield what a Postfix says of mail that it could not deliver."""
    for language in LANGUAGES:
        domain = shop_of(language).domain
        host = f"mail.{domain}"
        raw = BOUNCE.format(host=host, domain=domain, reader=READER, mark=MARK, language=language)
        yield GeneratedMail(
            kind="bounce",
            language=language,
            raw=raw.encode(),
            ip="192.0.2.25",
            helo=host,
            rdns=host,
            sender="",
        )


def _noticed(text: TemplateText) -> GeneratedMail:
    way = "list" if text.kind.startswith("mailman") else "server"
    if text.kind.startswith("oscar"):
        way = "service"
    page = text.page
    if page and "<body" not in page:
        page = f"<html><body>{page}</body></html>"
    return composed(
        way, shop_of(text.language), text.kind, text.language, text.subject, text.text, page, 1
    )


if __name__ == "__main__":
    main()
