"""How far the parser goes into a message; beyond each limit there is a finding, never an error."""

from __future__ import annotations

import msgspec


class ParserLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The parser's limits.

    What a whole message may cost in a kind of work is a constant beside that work
    (`Findings.afford`).
    """

    # mail servers stop at 10 to 50 MB; hashing attachments costs 1 ms per MB
    message_octets: int = 32 << 20
    header_octets: int = (
        64 << 10
    )  # one header: Postfix cuts at 100 kB (header_size_limit), real ones stay under 20 kB
    headers: int = 1000  # of one part; long ways with ARC sets and Received lines reach 200
    parts: int = 500  # a digest of a busy list has 100
    depth: int = 30  # mail forwarded as an attachment again and again reaches 10
    text_octets: int = (
        256 << 10
    )  # decoded text of one part that is read: 40,000 words; what matters stands before
    text_characters: int = 256 << 10  # of all parts together
    html_octets: int = 256 << 10  # of one part; Gmail shows 102 kB
    html_pages: int = 20  # parts of HTML that are parsed; the rest is read flat
    html_parsed_octets: int = 512 << 10  # of all parts together, decoded; the rest is read flat
    read_octets: int = 2 << 20  # text and HTML of all parts together, as sent
    attachment_octets: int = 32 << 20  # of one attachment, hashed
    links: int = 200  # large newsletters have 150
    addresses: int = 50  # beyond that a message is a list of members, not a contact
    recipients: int = 200  # mailboxes read from To and Cc


DEFAULT = ParserLimits()
