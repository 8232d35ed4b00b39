"""Answers to a browser, each with the headers of all."""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from aiohttp import web

from oborona.console.security_headers import (
    KEPT,
    NOT_KEPT,
    SECURITY_HEADERS,
)
from oborona.console.static_files import StaticFile

COMPRESSED_FROM: Final = 512  # bytes: below, it gains nothing
LEVEL: Final = 5  # of gzip: the next ones take twice the time for a hundredth
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""

_GZIP: Final = 16 + zlib.MAX_WBITS
_FILE_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")


def html_answer(request: web.BaseRequest, words: str, status: int = 200) -> web.Response:
    """Return a page; lone surrogates in it are question marks."""
    return _answer(request, words.encode("utf-8", "replace"), "text/html; charset=utf-8", status)


def static_answer(request: web.BaseRequest, file: StaticFile) -> web.Response:
    """Return a file that browsers keep."""
    compressed = _takes_gzip(request)
    answer = web.Response(
        body=file.compressed if compressed else file.octets,
        headers={**SECURITY_HEADERS, **KEPT, "Content-Type": file.kind, "Vary": "Accept-Encoding"},
    )
    if compressed:
        answer.headers["Content-Encoding"] = "gzip"
    return answer


def redirect(url: str) -> web.Response:
    """Send the browser to another page, by GET."""
    return web.Response(status=303, headers={**SECURITY_HEADERS, **NOT_KEPT, "Location": url})


def json_file(request: web.BaseRequest, name: str, words: object) -> web.Response:
    """Return what a page shows as JSON, to be saved."""
    octets = msgspec.json.format(msgspec.json.encode(words)) + b"\n"
    return _saved(_answer(request, octets, "application/json"), f"{name}.json")


def lines_file(request: web.BaseRequest, name: str, text: str) -> web.Response:
    """Return lines of JSON, one object each, to be saved."""
    octets = text.encode("utf-8", "replace")
    return _saved(_answer(request, octets, "application/x-ndjson"), f"{name}.jsonl")


def csv_file(
    request: web.BaseRequest, name: str, heads: Sequence[str], rows: Iterable[Sequence[object]]
) -> web.Response:
    """Return a table as CSV, to be saved; no cell of it is a formula."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(heads)
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    octets = text.getvalue().encode("utf-8", "replace")
    return _saved(_answer(request, octets, "text/csv; charset=utf-8"), f"{name}.csv")


def text_file(request: web.BaseRequest, name: str, text: str) -> web.Response:
    """Return lines of text, to be saved."""
    octets = text.encode("utf-8", "replace")
    return _saved(_answer(request, octets, "text/plain; charset=utf-8"), name)


def _cell(value: object) -> object:
    if isinstance(value, int | float) or value is None:
        return value
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _saved(answer: web.Response, name: str) -> web.Response:
    safe = _FILE_NAME.sub("_", name)
    answer.headers["Content-Disposition"] = f'attachment; filename="{safe}"'
    return answer


def _answer(request: web.BaseRequest, octets: bytes, kind: str, status: int = 200) -> web.Response:
    headers = {**SECURITY_HEADERS, **NOT_KEPT, "Content-Type": kind, "Vary": "Accept-Encoding"}
    if len(octets) >= COMPRESSED_FROM and _takes_gzip(request):
        packer = zlib.compressobj(LEVEL, wbits=_GZIP)
        octets = packer.compress(octets) + packer.flush()
        headers["Content-Encoding"] = "gzip"
    return web.Response(status=status, body=octets, headers=headers)


def _takes_gzip(request: web.BaseRequest) -> bool:
    for word in request.headers.get("Accept-Encoding", "").lower().split(","):
        coding, _, weight = word.strip().partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in {"q=0", "q=0.0"}
    return False
