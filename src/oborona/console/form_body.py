"""What a form sends: fields of text, and files where it is one for files.

Sources: URL standard, application/x-www-form-urlencoded; RFC 7578, multipart/form-data.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl

import msgspec

MAX_FIELDS: Final = 500
URLENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"

_NAME: Final = re.compile(rb'\bname="([^"\r\n]*)"')
_FILE: Final = re.compile(rb'\bfilename="([^"\r\n]*)"')


class FormError(ValueError):
    """What came is no form."""


class FormFile(msgspec.Struct, frozen=True):
    """A file that a person chose.

    Args:
        name: as their machine calls it.
        octets: what is in it.
    """

    name: str
    octets: bytes


class Form(msgspec.Struct, frozen=True):
    """What a form sent.

    Args:
        fields: all values of each field.
        files: by the names of their fields; a field for which none was chosen has none.
    """

    fields: dict[str, list[str]] = msgspec.field(default_factory=dict)
    files: dict[str, FormFile] = msgspec.field(default_factory=dict)

    def one(self, name: str) -> str:
        """Return the value of a field, without blanks around it; empty where it is not there."""
        return self.fields.get(name, [""])[-1].strip()

    def raw(self, name: str) -> str:
        """Return the value of a field as it came, such as a password."""
        return self.fields.get(name, [""])[-1]

    def all(self, name: str) -> list[str]:
        """Return all values of a field: those of boxes that are ticked."""
        return self.fields.get(name, [])


def read_form(kind: str, boundary: str, body: bytes) -> Form:
    """Return a form.

    Args:
        kind: its media type.
        boundary: of its parts, where it has such.
        body: as it came.

    Raises:
        FormError: it is none, or has more than `MAX_FIELDS` fields.
    """
    if kind == URLENCODED:
        return _urlencoded(body)
    if kind == MULTIPART and boundary:
        return _multipart(b"--" + boundary.encode("ascii", "replace"), body)
    raise FormError(f"a form comes as {URLENCODED} or {MULTIPART}")


def _urlencoded(body: bytes) -> Form:
    form = Form()
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise FormError(str(error)) from error
    for name, value in pairs:
        form.fields.setdefault(name, []).append(value)
    return form


def _multipart(delimiter: bytes, body: bytes) -> Form:
    form = Form()
    parts = (b"\r\n" + body).split(b"\r\n" + delimiter)
    if len(parts) > MAX_FIELDS + 2:
        raise FormError(f"more than {MAX_FIELDS} fields")
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise FormError("the form is not whole")
    for part in parts[1:-1]:
        head, blank, octets = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = _NAME.search(head)
        if not blank or name is None:
            raise FormError("a field without a name")
        field = name[1].decode("utf-8", "replace")
        file = _FILE.search(head)
        if file is None:
            form.fields.setdefault(field, []).append(octets.decode("utf-8", "replace"))
        elif file[1] or octets:
            form.files[field] = FormFile(file[1].decode("utf-8", "replace"), octets)
    return form
