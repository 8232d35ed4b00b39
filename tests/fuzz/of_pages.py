"""What must hold of what a browser sends to the console, whatever octets it is."""

from __future__ import annotations

from oborona.console.browser_state import own_path
from oborona.console.form_body import MAX_FIELDS, MULTIPART, URLENCODED, FormError, read_form
from oborona.console.search_line import targets


def form(octets: bytes) -> None:
    """A form: after a first line with its boundary, or as of a form without files.

    It has so many fields at most, and no more octets than came; the search line of it leads to us.
    """
    first, _, body = octets.partition(b"\n")
    boundary = first.decode("ascii", "replace")
    try:
        read = read_form(MULTIPART if boundary else URLENCODED, boundary, body)
    except FormError:
        return
    values = [value for values in read.fields.values() for value in values]
    assert len(values) + len(read.files) <= MAX_FIELDS
    assert sum(len(file.octets) for file in read.files.values()) <= len(body)
    for url in targets(read.one("q")):
        assert own_path(url) == url
