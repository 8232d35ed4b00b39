"""The mail of a digest: text and simple HTML, with signed links and one click that ends it.

Source: RFC 2369 section 3.2 (List-Unsubscribe), RFC 8058 (one click), RFC 3834 (Auto-Submitted).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from html import escape
from typing import Final

import msgspec

from oborona.desk.digest.news import DigestLetter, DigestNews
from oborona.desk.digest.texts import DigestTexts
from oborona.people.digest_link import LINK_S, DigestAct, DigestLink, sign_link
from oborona.plain_text import plain_text
from oborona.telemetry.alert import encodable_text

LINKS: Final = "/digest/"  # of the console, before a link that a page shows
ONE_CLICK: Final = "/digest-stop/"  # the same, that a mail program follows by itself
MAX_LINE: Final = 200  # characters of what a stranger wrote


class DigestPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Whose digest it is, and how it is written.

    Args:
        person: their id.
        to: their address.
        sender: address in From.
        url: of the console, without a slash at its end.
        key: that signs links.
        texts: in their language.
        perhaps: the one before may have reached them.
        now: Unix seconds.
    """

    person: int
    to: str
    sender: str
    url: str
    key: bytes
    texts: DigestTexts
    perhaps: bool
    now: float

    def link(self, act: DigestAct, message: str = "", at: str = LINKS) -> str:
        """Return the address that does an act."""
        until = int(self.now + LINK_S)
        made = DigestLink(person=self.person, act=act, message=message, until=until)
        return f"{self.url}{at}{sign_link(made, self.key)}"


def digest_mail(plan: DigestPlan, news: DigestNews) -> bytes:
    """Return the mail."""
    texts = plan.texts
    message = EmailMessage(policy=SMTP)
    message["From"] = f"Oborona <{plan.sender}>"
    message["To"] = Address(addr_spec=plan.to)
    title = texts.title.format(filed=len(news.filed), refused=len(news.refused))
    message["Subject"] = title
    message["Date"] = format_datetime(datetime.fromtimestamp(plan.now, UTC))
    message["Message-ID"] = make_msgid("digest", domain=plan.sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message["List-Unsubscribe"] = f"<{plan.link(DigestAct.STOP, at=ONE_CLICK)}>"
    message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message["Content-Language"] = texts.code
    message.set_content("\n".join(_text(plan, news, title)), cte="quoted-printable")
    html = "\n".join(_html(plan, news, title))
    message.add_alternative(html, subtype="html", cte="quoted-printable")
    return message.as_bytes()


def _text(plan: DigestPlan, news: DigestNews, title: str) -> Iterator[str]:
    texts = plan.texts
    yield title
    if plan.perhaps:
        yield f"\n{texts.perhaps}"
    for head, letters in ((texts.filed, news.filed), (texts.refused, news.refused)):
        if letters:
            yield f"\n{head}\n"
        for letter in letters:
            when, sender, subject, because = _words(plan, letter)
            yield f"{when}  {sender}"
            if subject:
                yield f"  {subject}"
            yield f"  {because}"
            for name, link in _links(plan, letter):
                yield f"  {name}: {link}"
            yield ""
    if news.more:
        yield texts.more
    yield f"\n{texts.page}: {plan.url}/my"
    yield f"{texts.stop}: {plan.link(DigestAct.STOP)}"
    yield ""


def _html(plan: DigestPlan, news: DigestNews, title: str) -> Iterator[str]:
    texts = plan.texts
    yield f'<!doctype html><html lang="{texts.code}"><head><meta charset="utf-8">'
    yield f"<title>{escape(title)}</title></head><body>"
    yield f"<p>{escape(title)}</p>"
    if plan.perhaps:
        yield f"<p>{escape(texts.perhaps)}</p>"
    for head, letters in ((texts.filed, news.filed), (texts.refused, news.refused)):
        if letters:
            yield f"<h2>{escape(head)}</h2>"
        for letter in letters:
            when, sender, subject, because = map(escape, _words(plan, letter))
            yield f"<p>{when} <b><bdi>{sender}</bdi></b><br>"
            if subject:
                yield f"<bdi>{subject}</bdi><br>"
            yield f"{because}"
            links = _links(plan, letter)
            if links:
                yield "<br>" + " · ".join(_anchor(name, link) for name, link in links)
            yield "</p>"
    if news.more:
        yield f"<p>{escape(texts.more)}</p>"
    yield f"<p>{_anchor(texts.page, f'{plan.url}/my')}<br>"
    yield f"{_anchor(texts.stop, plan.link(DigestAct.STOP))}</p></body></html>"


def _anchor(name: str, link: str) -> str:
    return f'<a href="{escape(link)}">{escape(name)}</a>'


def _words(plan: DigestPlan, letter: DigestLetter) -> tuple[str, str, str, str]:
    """Return when it came, from whom, about what, and why it was kept away, each on one line."""
    one, texts = letter.message, plan.texts
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.time))
    because = texts.because.get(one.because, one.because)
    sender = _line(one.header_from or one.sender) or texts.nobody
    return when, sender, _line(one.subject), _line(because)


def _line(text: str) -> str:
    """Return a stranger's words, with marks for what does not print; no address becomes a link."""
    return encodable_text(plain_text(text[:MAX_LINE], _mark)).strip()


def _mark(letter: str) -> str:
    return f"U+{ord(letter):04X}"


def _links(plan: DigestPlan, letter: DigestLetter) -> Sequence[tuple[str, str]]:
    one, texts = letter.message, plan.texts
    make: Callable[[DigestAct], str] = lambda act: plan.link(act, one.id)  # noqa: E731
    found = []
    if letter.released:
        found.append((texts.not_spam, make(DigestAct.NOT_SPAM)))
    if letter.released and one.author:
        found.append((texts.allow, make(DigestAct.ALLOW)))
    return found
