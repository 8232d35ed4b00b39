"""The MIME tree of a message (RFC 2045, 2046): which octets are which part.

Nothing is decoded here.

One pass per level, on offsets into one buffer: a multipart is cut at the lines that are its
boundary (RFC 2046 s5.1.1), each piece is an entity of its own, a message/rfc822 holds one more. An
explicit stack, no recursion; the outer boundary is cut first, so it always ends the inner parts.
Work is at most `ParserLimits.depth` searches over the message for lines that begin like a boundary,
and `MAX_CANDIDATES` of those.

As the standard library reads it (and most clients): a boundary line may end in white space; what
stands before the first boundary and after the last is not shown; a missing closing boundary ends at
the end. Otherwise than there: a multipart whose boundary never occurs is read as text, because
clients show it and a filter that does not is blind.
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.message import headers as fields
from oborona.message import parameters
from oborona.message.findings import Findings
from oborona.message.limits import ParserLimits
from oborona.message.model import HeaderField

MAX_BOUNDARY: Final = 70  # RFC 2046 s5.1.1; longer ones work, and are a finding
# lines of a message that begin like a boundary in their multipart; real ones: its parts
MAX_CANDIDATES: Final = 50_000
_TEXT_PLAIN: Final = "text/plain"  # RFC 2045 s5.2


class MimeEntity(msgspec.Struct):
    """A part by its offsets; `children` in order."""

    path: str
    depth: int
    headers: tuple[HeaderField, ...]
    start: int  # of the body
    end: int
    content_type: str = _TEXT_PLAIN
    charset: str = ""
    encoding: str = ""
    disposition: str = ""
    name: str = ""
    boundary: str = ""
    children: list[MimeEntity] = []
    broken: bool = False  # a container that could not be opened: its body is read as text

    @property
    def leaf(self) -> bool:
        """Whether its body is to be read, not opened."""
        return not self.children


def split(data: bytes, limits: ParserLimits, findings: Findings) -> list[MimeEntity]:
    """Return all entities in the order they stand, the message itself first; never raises.

    Args:
        data: a whole message with LF line ends.
        limits: of parts, depth and headers.
        findings: gets what is broken.

    """
    headers, body = fields.split(data, 0, len(data), limits, findings)
    root = _entity("", 0, headers, body, len(data), _TEXT_PLAIN, findings)
    entities: list[MimeEntity] = []
    stack = [root]
    count = 1  # parts found so far, those on the stack included
    while stack:
        entity = stack.pop()
        entities.append(entity)
        kind = entity.content_type
        if kind.startswith("multipart/"):
            spans = _pieces(data, entity, limits.parts - count, findings)
            default = "message/rfc822" if kind == "multipart/digest" else _TEXT_PLAIN
        elif (
            kind in {"message/rfc822", "message/global", "message/news"}
            and entity.encoding in _OPEN
        ):
            spans = [(entity.start, entity.end)]
            default = _TEXT_PLAIN
        else:
            continue
        if entity.depth >= limits.depth:
            findings.add("mime-too-deep", kind)
            entity.broken = True
            continue
        if count + len(spans) > limits.parts:
            findings.add("mime-too-many-parts", kind)
            spans = spans[: max(0, limits.parts - count)]
        if not spans:
            entity.broken = True
            continue
        count += len(spans)
        prefix = entity.path + "." if entity.path else ""
        children = []
        for number, (start, end) in enumerate(spans, 1):
            part_headers, body = fields.split(data, start, end, limits, findings)
            children.append(
                _entity(
                    f"{prefix}{number}",
                    entity.depth + 1,
                    part_headers,
                    body,
                    end,
                    default,
                    findings,
                )
            )
        entity.children = children
        stack.extend(reversed(children))
    return entities


# RFC 2046 s5.2.1 allows no other
_OPEN: Final = frozenset({"", "7bit", "8bit", "binary", "7-bit", "8-bit"})


def _entity(
    path: str,
    depth: int,
    headers: tuple[HeaderField, ...],
    start: int,
    end: int,
    default: str,
    findings: Findings,
) -> MimeEntity:
    """Return a part with its Content fields read."""
    content_type, charset, name, boundary = default, "", "", ""
    encoding = disposition = ""
    has_type = False
    for header in headers:
        if not header.name.startswith("content-"):
            continue
        if header.name == "content-type":
            if has_type:  # the first counts, as nearly everywhere; two are a trick
                findings.add("content-type-broken", "twice")
                continue
            has_type = True
            value, attributes = parameters.parse(fields.undecoded(header), findings)
            content_type = (
                value
                if value.count("/") == 1 and not value.startswith("/") and " " not in value
                else ""
            )
            if not content_type:
                if value:
                    findings.add("content-type-broken", value)
                content_type = _TEXT_PLAIN
            charset = attributes.get("charset", "").strip().strip("'\"").lower()[:60]
            name = name or attributes.get("name", "")
            boundary = attributes.get("boundary", "")
        elif header.name == "content-transfer-encoding":
            encoding = encoding or header.value.partition(";")[0].strip().strip("'\"").lower()[:40]
        elif header.name == "content-disposition" and not disposition:
            disposition, attributes = parameters.parse(fields.undecoded(header), findings)
            disposition = disposition[:40] or "attachment"
            name = attributes.get("filename", "") or name
    return MimeEntity(
        path=path,
        depth=depth,
        headers=headers,
        start=start,
        end=end,
        content_type=content_type[:127],
        charset=charset,
        encoding=encoding,
        disposition=disposition,
        name=name.strip()[:255],
        boundary=boundary,
    )


def _pieces(
    data: bytes, entity: MimeEntity, limit: int, findings: Findings
) -> list[tuple[int, int]]:
    """Return start and end of each body part of a multipart, at most `limit` + 1.

    Source: RFC 2046 s5.1.1.
    """
    boundary = entity.boundary.rstrip()
    if len(boundary) > MAX_BOUNDARY:
        findings.add("boundary-long", boundary)
    if not boundary:
        findings.add("mime-boundary-missing", entity.content_type)
        return []
    needle = b"--" + boundary.encode("utf-8", "surrogateescape")
    spans: list[tuple[int, int]] = []
    position = entity.start
    opened = -1  # where the current piece began
    at_start = data.startswith(needle, position, entity.end)
    line_start = b"\n" + needle
    while True:
        boundary_at = position if at_start else data.find(line_start, position, entity.end) + 1
        if not (boundary_at or at_start):
            break
        at_start = False
        if not findings.afford("boundaries", 1, MAX_CANDIDATES):
            findings.add("mime-too-many-parts", "lines like a boundary")
            break
        position = boundary_at + len(needle)
        line_end = data.find(b"\n", position, entity.end)
        if line_end < 0:
            line_end = entity.end
        rest = data[position:line_end].strip()
        position = line_end
        if rest and rest != b"--":
            continue
        if opened >= 0:
            # the line end before a boundary belongs to it
            spans.append((opened, max(opened, boundary_at - 1)))
            if len(spans) > limit:
                return spans
        if rest:
            return spans
        opened = min(line_end + 1, entity.end)
    if opened < 0:
        findings.add("mime-boundary-missing", entity.content_type)
        return []
    findings.add("mime-truncated", entity.content_type)
    spans.append((opened, entity.end))
    return spans
