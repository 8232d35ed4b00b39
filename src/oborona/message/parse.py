"""Bytes to a `Message` (RFC 5322, MIME). Pure: the same bytes and limits give the same message.

Never raises.

    line ends to LF → MIME tree (mime) → texts and attachments (reading, transfer, rfc2047,
    hypertext) → headers that mean something (mailboxes, dates) → links and addresses (links)

Whatever is broken, odd or beyond a limit is a finding (findings.NAMES) and the rest is read on.

Limits: `ParserLimits`, each named with its reason. Small hostile messages are held to about what a
large honest one costs; archives are opened to a limit (`contents`), pictures not looked into.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from oborona.message import (
    boilerplate,
    dates,
    defanged_links,
    distinct_links,
    links,
    mailboxes,
    mime,
    mixed_scripts,
    word_count,
)
from oborona.message import headers as fields
from oborona.message.core import linked_words
from oborona.message.entities import DISGUISE, hints
from oborona.message.entities import read as read_entities
from oborona.message.findings import Findings
from oborona.message.language import language
from oborona.message.limits import DEFAULT, ParserLimits
from oborona.message.model import (
    EntityLocation,
    HeaderField,
    Mailbox,
    Message,
    MessageLink,
    MessagePart,
)
from oborona.message.normalise import normalise
from oborona.message.part_reader import PartReader
from oborona.message.text_extraction import VisibleText
from oborona.message.unquoted_text import unquoted_text

__all__ = ["ParserLimits", "parse"]

MAX_FROM: Final = 8  # fields of From that are read, and mailboxes of each; honest mail has one
FROM_CHARACTERS: Final = (
    mailboxes.MAX_CHARACTERS // MAX_FROM
)  # of one field, white space folded: none takes what another needs
# characters of the subject, decoded: clients show 200, long honest ones have 500
MAX_SUBJECT: Final = 2000
MAX_TREE: Final = 400  # characters of the drawn MIME tree: 20 parts
MAX_MESSAGE_ID: Final = 998  # characters: the longest line of RFC 5322


def _no_step() -> None:
    """Go on."""


def parse(
    raw: bytes,
    limits: ParserLimits = DEFAULT,
    *,
    truncated: bool = False,
    regions: tuple[str, ...] = (),
    step: Callable[[], None] = _no_step,
) -> Message:
    """Return the message in pieces; never raises, whatever the bytes.

    Args:
        raw: headers and body, line ends CRLF, LF or CR.
        limits: how far to look.
        truncated: the caller holds only the head of the message.
        regions: whose telephone numbers may stand without their country, as ISO 3166 codes in upper
            case.
        step: called between the parts of the message, and the parts of the work; what it raises
            ends it.
    """
    findings = Findings()
    data = raw
    if len(data) > limits.message_octets:
        data = data[: limits.message_octets]
        truncated = True
    if truncated:
        findings.add("message-truncated", f"{len(raw)} octets")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        if b"\n" not in data:
            data = data.replace(b"\r", b"\n")
            findings.add("line-ends-broken")
    entities = mime.split(data, limits, findings)
    root = entities[0]
    if not root.headers:
        findings.add("message-empty")
    reading = PartReader(data, root, limits, findings, step)
    texts = reading.read()
    step()
    entities += reading.opened
    written = "\n".join(filter(None, (visible.text for visible in texts)))
    text = mixed_scripts.visual_order(written)
    if len(text) > limits.text_characters:
        findings.add("text-too-long", f"{len(text)} characters")
        text = text[: limits.text_characters]
    words, linked = linked_words(text)
    pages = [visible.page for visible in texts if visible.page is not None]
    hidden = "\n".join(filter(None, (page.hidden for page in pages)))
    hidden_words = word_count.count(hidden)
    subject = _value(root.headers, "subject")
    if len(subject) > MAX_SUBJECT:
        findings.add("header-too-long", "subject")
        subject = subject[:MAX_SUBJECT]
    from_headers = [header for header in root.headers if header.name == "from"]
    senders = _senders(from_headers, findings)
    shown_first = "\n".join((subject, *(box.name for box in senders)))
    if not (written.isascii() and shown_first.isascii()):
        plain = "\n".join(visible.text for visible in texts if visible.page is None)
        mixed_scripts.judge(written, plain, shown_first, findings)
    normal = normalise(text)[: limits.text_characters]
    step()
    hinted = hints(normal)
    disguised = defanged_links.read(normal, limits.links) if hinted & DISGUISE else ([], [])
    found_links = distinct_links.links(
        pages, [*links.in_text(linked, limits.links), *disguised[0]], limits, findings
    )
    subject = mixed_scripts.visual_order(subject)
    if "." in subject or "://" in subject:
        found_links = _with_subject(subject, found_links, limits, findings)
    return Message(
        raw=raw,
        headers=root.headers,
        subject=subject,
        from_=senders[0] if senders else None,
        from_count=len(from_headers),
        from_domains=tuple(dict.fromkeys(box.domain for box in senders if box.domain)),
        reply_to=_mailboxes(_all(root.headers, "reply-to"), limits.recipients, findings),
        recipients=_mailboxes(_all(root.headers, "to", "cc"), limits.recipients, findings),
        message_id=_value(root.headers, "message-id")[:MAX_MESSAGE_ID].strip().strip("<>"),
        date=dates.read(_value(root.headers, "date"), findings),
        parts=tuple(_part(entity) for entity in entities),
        mime_tree=_tree(root),
        depth=max(entity.depth for entity in entities),
        text=text,
        normal_text=normal,
        own_text=_own_text(texts, text, limits),
        hidden_text=hidden,
        hidden_share=hidden_words
        / (hidden_words + sum(word_count.count(page.text) for page in pages))
        if hidden_words
        else 0.0,
        skeleton="\n".join(filter(None, (page.skeleton for page in pages))),
        words=words + word_count.unspaced(text),
        charset=next((visible.charset for visible in texts if visible.text), ""),
        language=language(text) or language(f"{subject}\n{text}"),
        links=found_links,
        addresses=distinct_links.addresses(linked, disguised[1], pages, limits),
        entities=read_entities(
            text, normal, root.headers, pages, found_links, regions, findings, hinted=hinted
        ),
        attachments=tuple(reading.attachments),
        pictures=reading.album.pictures(),
        documents=tuple(reading.documents),
        size=len(raw),
        truncated=truncated,
        findings=findings.all(),
    )


def _with_subject(
    subject: str, body_links: tuple[MessageLink, ...], limits: ParserLimits, findings: Findings
) -> tuple[MessageLink, ...]:
    """Return the links of a message, and those that its subject names and its body does not lead
    to.
    """
    led = {link.host for link in body_links}
    named = distinct_links.links(
        [], links.in_text(subject.split(), limits.links), limits, findings, EntityLocation.HEADER
    )
    return (*body_links, *(link for link in named if link.host not in led)) if named else body_links


def _own_text(texts: list[VisibleText], text: str, limits: ParserLimits) -> str:
    """Return what the sender wrote himself."""
    if any(visible.page is not None and visible.page.own is not None for visible in texts):
        unquoted = (
            visible.text if visible.page is None or visible.page.own is None else visible.page.own
            for visible in texts
        )
        without = unquoted_text(
            mixed_scripts.visual_order("\n".join(filter(None, unquoted)))[: limits.text_characters]
        )
        if any(line.strip(" >") for line in without.split("\n")):
            return boilerplate.cut(without)
    return boilerplate.cut(unquoted_text(text))


def _value(headers: tuple[HeaderField, ...], name: str) -> str:
    header = fields.first(headers, name)
    return header.value if header else ""


def _all(headers: tuple[HeaderField, ...], *names: str) -> list[HeaderField]:
    return [header for header in headers if header.name in names]


def _senders(headers: list[HeaderField], findings: Findings) -> tuple[Mailbox, ...]:
    """Return the mailboxes of From: the first of each field before all others, those of the first
    and the last field leading.

    Who shows one field shows one of these two; a mailbox that people see is not to be lost behind
    many that they don't.
    """
    if len(headers) > MAX_FROM:
        headers = [*headers[: MAX_FROM - 1], headers[-1]]
    read: list[tuple[Mailbox, ...]] = []
    for header in headers:
        value = " ".join(fields.undecoded(header).split())
        if len(value) > FROM_CHARACTERS:
            findings.add("header-too-long", "from")
        if boxes := mailboxes.authors(value[:FROM_CHARACTERS], MAX_FROM, findings):
            read.append(boxes)
    leading = read[:1] + read[1:][-1:] + read[1:-1]
    return (*(boxes[0] for boxes in leading), *(box for boxes in leading for box in boxes[1:]))


def _mailboxes(headers: list[HeaderField], limit: int, findings: Findings) -> tuple[Mailbox, ...]:
    boxes: list[Mailbox] = []
    for header in headers:
        if len(boxes) < limit:
            boxes += mailboxes.parse(fields.undecoded(header), limit - len(boxes), findings)
    return tuple(boxes)


def _part(entity: mime.MimeEntity) -> MessagePart:
    return MessagePart(
        entity.path,
        entity.depth,
        entity.content_type,
        entity.charset,
        entity.encoding,
        entity.disposition,
        entity.name,
        entity.headers if entity.depth else (),
        entity.end - entity.start,
    )


def _tree(entity: mime.MimeEntity) -> str:
    """Return the tree drawn in one line, cut after `MAX_TREE` characters."""
    drawn: list[str] = []
    length = 0
    stack: list[mime.MimeEntity | str] = [entity]
    while stack and length < MAX_TREE:
        top = stack.pop()
        if isinstance(top, str):
            drawn.append(top)
        else:
            drawn.append(top.content_type)
            if top.children:
                stack.append(")")
                for number, child in enumerate(reversed(top.children)):
                    if number:
                        stack.append(",")
                    stack.append(child)
                stack.append("(")
        length += len(drawn[-1])
    return "".join(drawn)[:MAX_TREE]
