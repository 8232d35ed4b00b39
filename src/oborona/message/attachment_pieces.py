"""The pieces of attachments that are counted: names, types, sizes, checksums.

Of archives, the files in them.

Of many files in an archive the largest stand for it: decoys beside what is sent would have to be
larger than that.

Limits: `MAX_*` of each kind per message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import Final

from oborona.message.hashing import ShingleType
from oborona.message.model import ArchiveMember, Attachment
from oborona.message.normalise import normalise

MIN_OCTETS: Final = 64  # the empty file and the tracking pixel (43) are everybody's
# octets from which a size tells: of small files of a type, many share one by chance
MIN_SIZE: Final = 4096
MIN_MEMBER_NAME: Final = 5  # characters: "a.js", "1.txt"

MAX_ATTACHMENTS: Final = 10
MAX_MEMBERS: Final = 10

# What programs put into every archive.
_BOILERPLATE: Final = frozenset(
    {".ds_store", "thumbs.db", "desktop.ini", "__init__.py", "readme.txt", "readme.md"}
)


def pieces(attachments: Sequence[Attachment]) -> Iterator[tuple[ShingleType, bytes]]:
    """Yield the pieces of a message's attachments, ready to be hashed.

    None is empty, some may come twice.
    """
    for attachment in attachments[:MAX_ATTACHMENTS]:
        if name := normalise(attachment.name):
            yield ShingleType.ATTACHMENT_NAME, name.encode("utf-8", "surrogatepass")
        yield (
            ShingleType.ATTACHMENT_TYPE,
            f"{attachment.extension} {attachment.content_type}".strip().encode(),
        )
        if attachment.size >= MIN_SIZE and (kind := attachment.kind or attachment.extension):
            yield ShingleType.ATTACHMENT_SIZE, f"{attachment.size} {kind}".encode()
        if attachment.size >= MIN_OCTETS:
            yield ShingleType.CHECKSUM, attachment.sha256
            if attachment.picture:
                yield ShingleType.PICTURE, attachment.sha256
    members = [member for attachment in attachments for member in attachment.members]
    for member in nlargest(MAX_MEMBERS, members, key=_size):
        name = normalise(member.name)
        if len(name) >= MIN_MEMBER_NAME and name not in _BOILERPLATE and not name.startswith("._"):
            yield ShingleType.MEMBER_NAME, name.encode("utf-8", "surrogatepass")
        if member.size >= MIN_OCTETS and member.crc >= 0:
            yield ShingleType.MEMBER_CHECKSUM, b"%d %08x" % (member.size, member.crc)


def _size(member: ArchiveMember) -> int:
    return member.size
