"""Parts that are not shown as text: name, size, checksum, what they are by content, and what is
inside.
"""

from __future__ import annotations

import hashlib

from oborona.message import contents, file_names
from oborona.message.file_types import PICTURES
from oborona.message.findings import Findings
from oborona.message.limits import ParserLimits
from oborona.message.model import Attachment


def attachment(
    octets: bytes,
    name: str,
    content_type: str,
    limits: ParserLimits,
    findings: Findings,
    *,
    whole: bool = True,
) -> Attachment:
    """Return what is known of an attachment.

    Args:
        octets: decoded.
        name: as declared; a path loses its folders, direction marks (invoice[RLO]gpj.exe) are
            dropped.
        content_type: as declared.
        limits: for the octets hashed.
        findings: gets attachment-too-large, and what `contents.look` finds.
        whole: whether `octets` is all of it.

    """
    if len(octets) > limits.attachment_octets or not whole:
        findings.add("attachment-too-large", name)
        octets = octets[: limits.attachment_octets]
    name = file_names.plain(name)
    extension = file_names.extension(name)
    inside = contents.look(octets, name, extension, content_type, findings)
    return Attachment(
        name=name,
        extension=extension,
        content_type=content_type,
        size=len(octets),
        sha256=hashlib.sha256(octets).digest(),
        # a client will try to show what is declared one
        picture=inside.kind in PICTURES or content_type.startswith("image/"),
        kind=inside.kind,
        members=tuple(inside.members),
        encrypted=inside.encrypted,
        macros=inside.macros,
    )
