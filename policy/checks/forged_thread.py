"""The text quotes a letter from the recipient's own domain, and nothing in the header says that it
answers or forwards one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from oborona.domains import registrable
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "forged-thread"

LOOKED_AT: Final = 20_000  # characters of text: where the quoted letters of a thread begin
MAX_TRIED: Final = 50  # addresses of the domain
MAX_BEFORE: Final = 200  # characters of the line in front of one

# Who wrote, in a header that was quoted, and in the line above a quotation.
_FROM: Final = re.compile(
    r"[\s>|*_]{0,20}(?:from|von|de|da|od|fra|från|van|gönderen|kimden|от|від|lähettäjä|feladó|差出人|发件人|寄件者|보낸 ?사람)"
    r"[\s*_]{0,3}[:\uff1a]",
    re.IGNORECASE,
)
_VERB: Final = (
    r"(?:wrote|writes|schrieb|écrit|escribió|escreveu|scritto|schreef|napisał\w?|napsal\w?|skrev|"
    r"yazd\u0131|kirjoitti|пише\w?|писал\w?|написал\w?|написав\w?|のメール|写道|寫道|작성)"
)
_WROTE: Final = re.compile(
    rf"[\s>)\]\"'|]{{0,6}}(?:(?:a|ha) )?{_VERB}[^\n:]{{0,20}}[:\uff1a]", re.IGNORECASE
)
_WROTE_BEFORE: Final = re.compile(rf"\b{_VERB}\b", re.IGNORECASE)
_ENDS: Final = re.compile(r"[\s>)\]\"']{0,4}[:\uff1a]")
_MAILBOX: Final = re.compile(r"[\w.+-]{1,64}\Z")
_MAX_MAILBOX: Final = 64  # characters of one (RFC 5321 section 4.5.3.1.1)
_THREAD: Final = ("in-reply-to", "references", "thread-index", "thread-topic", "resent-from")


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the quoted address: an approval of the director's that never was.

    Programs put identification fields into answers and forwards alike.

    Source: RFC 5322 section 3.6.4.
    """
    message, recipients = context.message, context.envelope.recipients
    own = registrable(recipients[0].rpartition("@")[2].lower()) if recipients else ""
    if "." not in own or own == context.author_site:
        return None
    if "multipart/report" in message.mime_tree:  # what is returned is quoted whole
        return None
    text = message.text[:LOOKED_AT]
    if own not in text.lower() or any(message.get(name) is not None for name in _THREAD):
        return None
    for start, end in islice(_addresses(text, own), MAX_TRIED):
        line = max(text.rfind("\n", 0, start) + 1, start - MAX_BEFORE)
        before = text[line:start]
        if (
            _FROM.match(before)
            or _WROTE.match(text, end)
            or (_WROTE_BEFORE.search(before) and _ENDS.match(text, end))
        ):
            return Finding(SLUG, quoted(text[start:end], 100))
    return None


def _addresses(text: str, own: str) -> Iterator[tuple[int, int]]:
    """Yield where addresses of a domain, and of hosts below it, begin and end.

    What is looked for is the @, which is rare: a search that begins at mailboxes tries every word.
    """
    hosts = re.compile(rf"@(?:[\w-]{{1,63}}\.){{0,4}}{re.escape(own)}(?![\w-]|\.\w)", re.IGNORECASE)
    end = 0
    for host in hosts.finditer(text):
        at = host.start()
        mailbox = _MAILBOX.search(text, max(end, at - _MAX_MAILBOX), at)
        if mailbox is not None:
            end = host.end()
            yield mailbox.start(), end
