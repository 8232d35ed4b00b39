"""Facts about attachments and pictures."""

from __future__ import annotations

from typing import Final

from oborona.policy.expression.forms import Form
from oborona.policy.fact_tables.area import Area, Words, fact
from oborona.policy.facts import CODE_LIMIT, NAME_LIMIT, TEXT_LIMIT
from oborona.types import Stage

_M = Stage.CONTENT

AREA: Final = Area(
    "Attachments and pictures",
    (
        fact("attachments", int, _M, "attached files, pictures included", example=1),
        fact(
            "attachments.names",
            Words,
            _M,
            "their names",
            example=frozenset({"invoice.pdf"}),
            form=Form.SMALL,
            longest=NAME_LIMIT,
        ),
        fact(
            "attachments.extensions",
            Words,
            _M,
            "their extensions, without the dot",
            example=frozenset({"pdf"}),
            form=Form.SMALL,
        ),
        fact(
            "attachments.kinds",
            Words,
            _M,
            "what they are by content: exe, lnk, zip, rar, 7z, iso, pdf, doc, docx, html, png, jpeg, ...; those that are known",
            example=frozenset({"pdf"}),
            form=Form.SMALL,
        ),
        fact(
            "attachments.members",
            Words,
            _M,
            "extensions of the files in archives, and in archives in those",
            example=frozenset({"js"}),
            form=Form.SMALL,
        ),
        fact("attachments.files", int, _M, "files in archives", example=0),
        fact(
            "attachments.encrypted",
            bool,
            _M,
            "an archive or an office document needs a password",
            example=False,
        ),
        fact(
            "attachments.macros",
            bool,
            _M,
            "an office document has macros, also one in an archive",
            example=False,
        ),
        fact("attachments.size", int, _M, "all of them, decoded", unit="bytes", example=65_536),
        fact("pictures", int, _M, "pictures, attached or shown inside", example=0),
        fact(
            "pictures.codes",
            Words,
            _M,
            "what QR codes and their like in pictures hold; 200 characters of each",
            example=frozenset({"https://example.com/pay"}),
            longest=CODE_LIMIT,
        ),
        fact(
            "pictures.text",
            str,
            _M,
            "what is written in pictures; empty until they have been read",
            example="sale today",
            form=Form.FOLDED,
            longest=TEXT_LIMIT,
        ),
        fact("pictures.words", int, _M, "words of that", example=2),
        fact(
            "pictures.only",
            bool,
            _M,
            "a picture large enough for a message, and next to no text beside it",
            example=False,
        ),
    ),
)
