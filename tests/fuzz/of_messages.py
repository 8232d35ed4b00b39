"""What must hold of the parsers of messages and texts, whatever octets they get."""

from __future__ import annotations

from typing import Final

import msgspec
import re2
from selectolax.lexbor import LexborHTMLParser

from oborona import domains
from oborona.message import (
    boilerplate,
    calendars,
    charset_guess,
    charsets,
    css,
    css_colours,
    defanged_links,
    handles,
    headers,
    html_skeleton,
    hypertext,
    language,
    links,
    mailboxes,
    mime,
    mixed_scripts,
    parameters,
    path_templates,
    pgp_armor,
    phones,
    redirects,
    rfc2047,
    templates,
    transfer_encoding,
    wallets,
    yenc,
)
from oborona.message.findings import NAMES, Findings
from oborona.message.hashing import Hasher
from oborona.message.limits import DEFAULT
from oborona.message.model import EntityLocation, Message
from oborona.message.normalise import MAX_GROWTH, normalise
from oborona.message.parse import parse
from oborona.message.respelling import respellings
from oborona.message.shingles import shingles
from oborona.message.unquoted_text import unquoted_text
from oborona.policy.signatures.check import options as signature_options
from oborona.types import Client, Envelope
from tests.fuzz.common import known, text_of

HASHER: Final = Hasher(b"a secret of the site")
ENVELOPE: Final = Envelope(
    client=Client(ip="192.0.2.1"), sender="a@b.example", recipients=("c@d.example",)
)
LINKS: Final = 200  # as many as a message may have


def whole(raw: bytes) -> Message:
    """Any octets give a Message, the same each time, with nothing that UTF-8 cannot hold, and
    distinct shingles of 64 bits.
    """
    message = parse(raw)
    assert message == parse(raw)
    assert len(message.normal_text) <= MAX_GROWTH * len(message.text)
    assert {finding.name for finding in message.findings} <= NAMES.keys()
    assert 0.0 <= message.hidden_share <= 1.0
    msgspec.json.encode(message)  # refuses lone surrogates
    pieces = shingles(message, ENVELOPE, HASHER)
    assert len(set(pieces.shingles)) == len(pieces.shingles)
    assert all(0 <= shingle.hash < 1 << 64 for shingle in pieces.shingles)
    return message


def parts(octets: bytes) -> None:
    """Parts lie within the message, each child within its parent, no more and no deeper than the
    limits.
    """
    findings = Findings()
    entities = mime.split(octets, DEFAULT, findings)
    assert 1 <= len(entities) <= DEFAULT.parts + 1
    for entity in entities:
        assert 0 <= entity.start <= entity.end <= len(octets)
        assert entity.depth <= DEFAULT.depth + 1
        for child in entity.children:
            assert entity.start <= child.start <= child.end <= entity.end
    known(findings)


def fields(octets: bytes) -> None:
    """Each field is read as everything a field can be; the native core reads what Python does."""
    findings, by_python = Findings(), Findings()
    found, body = headers.split(octets, 0, len(octets), DEFAULT, findings)
    assert (found, body) == headers.split(octets, 0, len(octets), DEFAULT, by_python, None)
    assert findings.all() == by_python.all()
    assert 0 <= body <= len(octets)
    for header in found[:20]:
        header.value.encode()
        written = headers.undecoded(header)
        parameters.parse(written, findings)
        assert len(mailboxes.parse(written, 8, findings)) <= 8
    known(findings)


def in_charset(octets: bytes) -> None:
    """Any octets in any charset are text that UTF-8 can hold; the first line names the charset."""
    charset, _, rest = octets.partition(b"\n")
    findings = Findings()
    charsets.decode(rest, charset.decode("latin-1").lower()[:40], findings).text.encode()
    rfc2047.decode_words(rest.decode("latin-1"), findings).encode()
    known(findings)


def transferred(octets: bytes) -> None:
    """Nothing that is decoded grows."""
    findings = Findings()
    for encoding in ("quoted-printable", "base64", "x-uuencode", "?"):
        assert len(transfer_encoding.decode(octets, encoding, findings)) <= len(octets)
    rest, files = transfer_encoding.uuencoded(octets, findings)
    assert len(rest) + sum(len(content) for _, content in files) <= len(octets)
    rest, files = yenc.files(octets)
    assert len(rest) + sum(len(content) for _, content in files) <= len(octets)
    known(findings)


def web_page(octets: bytes) -> None:
    """A page gives text without marks of ours, and no more links than were asked for."""
    for flat in (False, True):
        findings = Findings()
        found = hypertext.read(text_of(octets), LINKS, findings, flat=flat)
        assert "\0" not in found.text + found.hidden
        assert len(found.targets) <= LINKS
        known(findings)
    html_skeleton.skeleton(text_of(octets))


def style_sheet(octets: bytes) -> None:
    """A style sheet gives selectors and styles; a declaration block gives one."""
    text = text_of(octets)
    css.rules(text)
    css.style(text)
    css_colours.attribute_colour(text)


def any_links(octets: bytes) -> None:
    """A normal URL is its own normal form, and what it holds is followed within limits."""
    text = text_of(octets)
    for url in (*links.in_text(text.split(), LINKS), *text.split("\n")[:20]):
        link = links.link(url, "", EntityLocation.TEXT)
        if link is None:
            continue
        again = links.normal(link.url)
        assert again is not None
        assert again[1] == link.host, (link, again)
        assert len(redirects.targets(link.url, link.domain)) <= redirects.MAX_TARGETS
        path_templates.template(link.url, link.host, link.domain)
        domains.under_known_suffix(link.host)
        handles.of_link(link.url, link.host)
    links.addresses(text.split(), LINKS)


def any_contacts(octets: bytes) -> None:
    """Telephones are E.164; whatever is found is text."""
    findings = Findings()
    text = text_of(octets)
    normal = normalise(text)
    for number, _ in phones.in_text(normal, ("RU", "US"), findings):
        assert number[0] == "+"
        assert number[1:].isdecimal()
    wallets.in_text(text, findings)
    handles.in_text(normal)
    handles.of_scheme(text)
    urls, addresses = defanged_links.read(normal, LINKS)
    assert max(len(urls), len(addresses)) <= LINKS


def normal_form(octets: bytes) -> None:
    """The form of a form is itself, and at most so many times as long as the text."""
    text = text_of(octets)
    form = normalise(text)
    assert normalise(form) == form
    assert len(form) <= MAX_GROWTH * len(text)
    assert len(form.encode()) <= MAX_GROWTH * len(text.encode())


def own_and_words(octets: bytes) -> None:
    """Own words are lines of the text; words have no space in them.

    There are as many min-hashes as values, or none.
    """
    text = text_of(octets)
    lines = set(text.split("\n"))
    assert all(line in lines for line in unquoted_text(text).split("\n"))
    words = templates.words(normalise(text))
    assert not any(" " in word for word in words)
    HASHER.fingerprinter.likeness(words)


def own(octets: bytes) -> None:
    """Cutting takes whole sentences and signatures away, and adds nothing but line ends."""
    findings = Findings()
    text = text_of(octets)
    assert len(boilerplate.cut(text)) <= len(text)
    assert len(pgp_armor.strip_armor(text, findings)) <= len(text)
    known(findings)


def letters(octets: bytes) -> None:
    """Tricks with letters are findings, a language is two letters, and what was turned round has no
    letter more.
    """
    findings = Findings()
    text = text_of(octets)
    mixed_scripts.judge(text, text, text[:100], findings)
    assert len(mixed_scripts.visual_order(text)) <= len(text)
    assert len(language.language(text)) in {0, 2}
    respellings(text)
    known(findings)


def card(octets: bytes) -> None:
    """A calendar gives text that UTF-8 can hold."""
    calendars.read(text_of(octets)).encode()


def native(octets: bytes) -> None:
    """What is handed to libraries in C and C++ as it comes: charset detection, language detection,
    the HTML parser, and a pattern against a text.

    The first line is the pattern.
    """
    pattern, _, rest = octets.partition(b"\n")
    assert all(codec for codec in charset_guess.guess(charset_guess.sample(rest)))
    text = text_of(rest)
    assert len(language.language(text)) in {0, 2}
    LexborHTMLParser(rest).css("*")
    try:
        known_pattern = re2.compile(text_of(pattern), signature_options())
    except re2.error:
        return
    known_pattern.search(normalise(text).encode("utf-8", "replace"))
