"""Imports the addresses of address books: vCard (RFC 6350, 2426, 2.1) and the CSV of Google,
Outlook and Thunderbird.

Of a vCard only the EMAIL lines are read; pictures and keys are skipped before anything is decoded.
Of a CSV the columns are read whose heading names mail, in one of several languages; a file without
a heading must hold addresses alone.  A value that is no mail address is counted and reported, and
the rest is read.

Limits: `MAX_OCTETS` of a file, `MAX_LINE` of a line, `MAX_ADDRESSES` and `MAX_VALUES` of a book,
`MAX_TOLD` reported problems.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from typing import Final

import msgspec
import vobject

from oborona.errors import OboronaError
from oborona.reputation.personal import mail_address

MAX_OCTETS: Final = 32 << 20  # a book of 5,000 people with their pictures
MAX_LINE: Final = 65_536  # characters of one line that is looked at
MAX_ADDRESSES: Final = 10_000  # more know everybody
MAX_VALUES: Final = 100_000  # some of them no addresses, or the same ones
MAX_TOLD: Final = 20
MAX_CODED: Final = 1000  # characters of an encoded line; the longest address has 320
MAX_CODED_LINES: Final = 5_000  # of a book: 2 s
MAX_CELL: Final = 20_000  # characters: notes in other columns

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PLAIN: Final = re.compile(  # no encoding, nothing quoted: vobject takes 300 µs of CPU a line
    r"(?:[A-Za-z0-9-]+\.)?EMAIL(?:;(?!ENCODING|CHARSET|QUOTED)[A-Za-z0-9=_,.-]+)*:([^\\]*)",
    re.IGNORECASE,
)
_EMAIL: Final = re.compile(r"(?:[A-Za-z0-9-]+\.)?EMAIL\s*[;:]", re.IGNORECASE)
_OF_MAIL: Final = re.compile(r"e-?mail|courriel|correo|почт|郵件|邮件|メール", re.IGNORECASE)
_NOT_ADDRESS: Final = re.compile(
    r"type|label|display|name|typ\b|anzeige|affich|format|provider", re.IGNORECASE
)
_BETWEEN: Final = re.compile(r"(?:[;,\s]|:::)+")  # several in one cell
_CARD: Final = re.compile(r"^[ \t]*BEGIN:VCARD[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


class BrokenAddressBook(OboronaError):  # noqa: N818 - reads as what happened
    """A file that is no address book, or larger than one person's; the text says why."""


class AddressBook(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of an address book, and its problems."""

    format: str  # vcard, csv
    addresses: tuple[str, ...]  # distinct, in their normal form, in order
    passed_over: int  # values that are no mail address
    problems: tuple[str, ...]  # the first of them, with their lines


def read_address_book(octets: bytes) -> AddressBook:
    """Return what an address book holds.

    Args:
        octets: of the file.

    Raises:
        BrokenBook: it is none, too large, or holds too many addresses: nothing of it is taken.
    """
    if len(octets) > MAX_OCTETS:
        raise BrokenAddressBook(
            f"has {len(octets) >> 20} MiB; an address book has at most {MAX_OCTETS >> 20}"
        )
    text = _text(octets)
    if "\0" in text:
        raise BrokenAddressBook("is no text: it holds zero octets")
    if _CARD.search(text[:MAX_LINE]):
        return _gathered("vcard", _of_cards(text))
    return _gathered("csv", _of_table(text))


def _text(octets: bytes) -> str:
    for mark, encoding in _MARKS:
        if octets.startswith(mark):
            try:
                return octets.decode(encoding)
            except UnicodeDecodeError as error:
                raise BrokenAddressBook(
                    f"begins as {encoding} and is none: {error.reason}"
                ) from None
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        # as Outlook writes it in the west; addresses are ASCII
        return octets.decode("cp1252", "replace")


def _gathered(form: str, values: Iterator[tuple[int, str]]) -> AddressBook:
    addresses: dict[str, None] = {}
    passed_over, problems = 0, list[str]()
    for number, (line, value) in enumerate(values):
        if number >= MAX_VALUES:
            raise BrokenAddressBook(
                f"holds more than {MAX_VALUES:,} values: no address book is so long"
            )
        address = "" if value.startswith("=") else mail_address(value)  # a formula of a spreadsheet
        if not address:
            passed_over += 1
            if len(problems) < MAX_TOLD:
                problems.append(f"line {line}: {value[:80]!a} is no mail address")
            continue
        addresses[address] = None
        if len(addresses) > MAX_ADDRESSES:
            raise BrokenAddressBook(
                f"holds more than {MAX_ADDRESSES:,} addresses: nobody knows so many people"
            )
    if not addresses and not passed_over:
        raise BrokenAddressBook("holds no mail address")
    return AddressBook(
        format=form, addresses=tuple(addresses), passed_over=passed_over, problems=tuple(problems)
    )


def _of_cards(text: str) -> Iterator[tuple[int, str]]:
    """Yield the values of EMAIL with their lines."""
    coded = 0
    for number, line in _lines_of_mail(text):
        coded += _PLAIN.fullmatch(line) is None
        if coded > MAX_CODED_LINES:
            raise BrokenAddressBook(
                f"holds more than {MAX_CODED_LINES:,} encoded addresses: write it as "
                f"vCard 3.0 or 4.0"
            )
        yield number, _of_line(line)


def _lines_of_mail(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of EMAIL, whole again, with the number of the first of each."""
    whole, began = "", 0
    for number, line in enumerate(io.StringIO(text), 1):
        stripped = line.rstrip("\r\n")
        if stripped[:1] in (" ", "\t"):  # goes on, RFC 6350 section 3.2
            whole += stripped[1:] if whole and len(whole) < MAX_LINE else ""
            continue
        if whole:
            yield began, whole
        whole, began = (stripped, number) if _EMAIL.match(stripped[:200]) else ("", 0)
    if whole:
        yield began, whole


def _of_line(line: str) -> str:
    """Return the value of a line of EMAIL, decoded as its parameters say.

    The line itself where it has none.
    """
    plain = _PLAIN.fullmatch(line)
    if plain or len(line) > MAX_CODED:
        return plain[1].strip().removeprefix("mailto:") if plain else line
    try:
        card = vobject.readOne(
            f"BEGIN:VCARD\r\nVERSION:3.0\r\n{line}\r\nEND:VCARD\r\n", allowQP=True
        )
        value = str(card.email.value)
    except Exception:  # noqa: BLE001 - vobject raises what its parts raise: of a line that nobody can read the line is told
        return line
    return value.strip().removeprefix("mailto:")


def _of_table(text: str) -> Iterator[tuple[int, str]]:
    """Yield the values of columns of mail with their lines."""
    head = text[:MAX_LINE].split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    csv.field_size_limit(MAX_CELL)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns: list[int] | None = None
    try:
        for row in rows:
            if columns is None:
                columns = _columns(row)
                if columns:
                    continue
                if not any(mail_address(cell) for cell in row):
                    raise BrokenAddressBook(
                        "is neither a vCard file nor a table with a column of mail "
                        "addresses: no heading speaks of mail"
                    )
            for place in columns or range(len(row)):
                cell = row[place].strip().lstrip("'") if place < len(row) else ""
                for value in (
                    _BETWEEN.split(cell) if "@" in cell and not cell.startswith("=") else [cell]
                ):
                    if value:
                        yield rows.line_num, value
    except csv.Error as error:
        raise BrokenAddressBook(f"line {rows.line_num}: {error}") from None


def _columns(row: list[str]) -> list[int]:
    return [
        place
        for place, cell in enumerate(row)
        if len(cell) < 100
        and "@" not in cell
        and _OF_MAIL.search(cell)
        and not _NOT_ADDRESS.search(_OF_MAIL.sub("", cell))
    ]
