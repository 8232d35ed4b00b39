"""Names of what the parser finds broken or odd, each with its meaning.

And the place where they gather.

A name here is for ever: rules, journals and reports use it.
"""

from __future__ import annotations

from typing import Final

from oborona.types import Finding

NAMES: Final = {
    "address-broken": "a From, To, Cc or Reply-To field holds text that is no address",
    "alternative-differs": "the plain and the HTML version of the text have few words in common",
    "archive-bomb": (
        "an archive that states it unpacks to hundreds of times its size, or whose files lie "
        "on one another"
    ),
    "archive-broken": "an archive whose listing cannot be read, or not to its end",
    "archive-contradicts": (
        "an archive that shows different things to different programs: names that differ, "
        "data before it"
    ),
    "archive-encrypted": "an archive with files, or a listing, that need a password",
    "archive-too-deep": "archives within archives beyond the limit; the innermost were not opened",
    "archive-too-large": "more files in archives, or more to unpack, than the limit; the rest was not looked at",
    "attachment-too-large": "an attachment was hashed up to the limit only",
    "attachment-type-wrong": (
        "a file whose content is not what its name or declared type promises, beyond what "
        "honest programs do"
    ),
    "author-ambiguous": (
        "a From field that mail programs read differently: stray brackets or quotes, an "
        "address in a comment, several addresses"
    ),
    "author-unusable": "a From field with an @ and no domain name, so that no domain can disown it",
    "base64-broken": "base64 with foreign characters or a wrong length; what could be decoded was used",
    "body-8bit": "octets above 127 in text that declares neither a charset nor an 8-bit encoding",
    "body-nul": "NUL octets in the text",
    "boundary-long": "a MIME boundary of more than the 70 characters that RFC 2046 allows",
    "charset-lies": (
        "text that is not in the charset it declares: another one holds it, and makes words of it"
    ),
    "charset-unknown": "a charset that no decoder knows; read as UTF-8, else by a guess",
    "charset-wrong": "octets that the declared charset cannot hold; shown as U+FFFD",
    "content-type-broken": (
        "a Content-Type that is no type/subtype, or is given twice; taken as text/plain or as "
        "the first"
    ),
    "date-broken": "a Date field that is no date",
    "direction-override": "characters that turn the order of letters round (U+202E)",
    "document-encrypted": "an office document that needs a password",
    "document-launch": "a PDF that starts a program",
    "document-macros": "an office document with macros",
    "document-macros-run": (
        "macros that start by themselves and reach out: to programs, libraries, files or the "
        "network"
    ),
    "document-object": "an RTF document or a PDF with a file or a program inside",
    "document-remote": (
        "an office document that fetches its template or an object from elsewhere when it is opened"
    ),
    "document-script": "a PDF with a script",
    "documents-too-large": "more octets of documents than the limit; the rest was not looked into",
    "encoding-unknown": "a Content-Transfer-Encoding that RFC 2045 does not know; taken as 8bit",
    "header-8bit": (
        "octets in a header that are neither ASCII nor UTF-8; read in the charset of its "
        "text, else by a guess"
    ),
    "header-broken": "a line among the headers that is no header; the body was taken to start there",
    "header-encoding-broken": "an RFC 2047 word that cannot be decoded",
    "header-nul": "a NUL octet in a header",
    "header-too-long": "a header longer than the limit; the rest of it was not looked at",
    "header-too-many": "more headers than the limit; the rest was not looked at",
    "hidden-text": "HTML with text that a reader does not see, beyond a newsletter's usual preview line",
    "html-loud": "HTML with huge and red, blinking or running letters",
    "html-too-complex": (
        "HTML built to exhaust a parser (nesting, formatting, attributes); read without its "
        "structure"
    ),
    "html-too-long": "HTML longer than the limit; the rest was not looked at",
    "letters-as-numbers": "HTML with plain letters written as numbers, as in &#118;, many of them",
    "line-ends-broken": "lines that end in CR alone",
    "links-too-many": "more links than the limit; the rest was not looked at",
    "marks-piled": "letters under piles of combining marks, or struck out and underlined one by one",
    "message-empty": "no octets at all, or no header",
    "message-encrypted": "a text that only its reader can open: S/MIME or OpenPGP",
    "message-external": "a text that is to be fetched from elsewhere (message/external-body)",
    "message-partial": (
        "a piece of a message that was cut into many (message/partial); no filter sees the whole"
    ),
    "message-truncated": "larger than the limit, or cut by the caller; the rest was not looked at",
    "mime-boundary-missing": "a multipart whose boundary is not declared or never occurs; read as text",
    "mime-too-deep": "parts within parts beyond the limit; the innermost were read as text",
    "mime-too-many-parts": "more parts than the limit; the rest was not looked at",
    "mime-truncated": "a multipart without its closing boundary",
    "mixed-scripts": "words that mix Latin with Cyrillic or Greek letters that look like them",
    "page-form": "an attached web page whose form is sent to another site",
    "page-leads-away": "an attached web page that leads elsewhere by itself",
    "page-password": "an attached web page that asks for a password",
    "page-script": "an attached web page or drawing with a script",
    "page-unpacks": "an attached web page or drawing that writes itself from encoded text",
    "painted-letters": "mathematical, circled, full-width, small capital or raised letters for words",
    "pdf-encrypted": "a PDF that needs a password to be opened",
    "picture-broken": "a picture that cannot be decoded, or not to its end",
    "picture-too-large": "a picture of more octets or pixels than the limit; it was not looked at",
    "pictures-too-many": "more pictures than the limit; the smaller ones were not looked at",
    "quoted-printable-broken": "quoted-printable with an = that starts no code",
    "soft-hyphens": "soft hyphens around single letters, or in word after word of a plain text",
    "text-too-long": "more text than the limit; the rest was not looked at",
    "tnef-broken": "a winmail.dat that cannot be read to its end",
    "uuencode-broken": "a uuencoded file that cannot be decoded, or has no end",
    "words-cut": "HTML with words cut by comments or unknown tags, which a reader does not see",
    "zero-width": "characters without width inside words",
}
"""name -> what it says"""

# characters of a finding's evidence: enough to recognise, too little to flood a log
EVIDENCE_LENGTH: Final = 80


class Findings:
    """Gathers findings while a message is parsed: the first of each name stays.

    Also counts what the whole message has cost,
    as it goes wherever work is done: many small pieces must not cost what one large piece may not.
    """

    __slots__ = ("_found", "_spent")

    def __init__(self) -> None:
        self._found: dict[str, Finding] = {}
        self._spent: dict[str, int] = {}

    def afford(self, work: str, amount: int, limit: int) -> bool:
        """Count `amount` of a kind of work.

        Return whether the message stays within `limit` of it.
        """
        spent = self._spent[work] = self._spent.get(work, 0) + amount
        return spent <= limit

    def left(self, work: str, limit: int) -> int:
        """Return how much of a kind of work the message may still cost."""
        return max(0, limit - self._spent.get(work, 0))

    def add(self, name: str, evidence: str | bytes = "") -> None:
        """Note `name` with its evidence, quoted and cut; a second one of the same name is dropped.

        Raises:
            KeyError: `name` is not in `NAMES`: a fault of ours.

        """
        if name in self._found:
            return
        if name not in NAMES:
            raise KeyError(name)
        if isinstance(evidence, bytes):
            evidence = evidence[:EVIDENCE_LENGTH].decode("ascii", "backslashreplace")
        self._found[name] = Finding(name, quoted(evidence))

    def all(self) -> tuple[Finding, ...]:
        """Return them in the order they were found."""
        return tuple(self._found.values())


def quoted(text: str) -> str:
    """Return `text` cut, with all that is not printable as escapes: line ends, C1 controls,
    direction marks, lone surrogates.
    """
    text = text[:EVIDENCE_LENGTH]
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )[:EVIDENCE_LENGTH]
