"""Which pieces of attachments are counted, and which are everybody's."""

from __future__ import annotations

import hashlib

from oborona.message.attachment_pieces import MAX_ATTACHMENTS, MAX_MEMBERS, pieces
from oborona.message.hashing import ShingleType
from oborona.message.model import ArchiveMember, Attachment
from oborona.message.normalise import normalise


def member(name: str = "a file.doc", size: int = 1000, crc: int = 1) -> ArchiveMember:
    return ArchiveMember(
        name=name, extension="doc", kind="doc", size=size, crc=crc, encrypted=False, depth=1
    )


def attachment(
    *members: ArchiveMember,
    name: str = "Pack.ZIP",
    size: int = 5000,
    kind: str = "zip",
    picture: bool = False,
) -> Attachment:
    return Attachment(
        name=name,
        extension="zip",
        content_type="application/zip",
        size=size,
        sha256=hashlib.sha256(name.encode()).digest(),
        picture=picture,
        kind=kind,
        members=members,
    )


def of(kind: ShingleType, *attachments: Attachment) -> list[bytes]:
    return [piece for each, piece in pieces(attachments) if each is kind]


def test_all_kinds_of_pieces() -> None:
    one = attachment(member("Счет №1.doc"))
    assert list(pieces([one])) == [
        (ShingleType.ATTACHMENT_NAME, b"pack.zip"),
        (ShingleType.ATTACHMENT_TYPE, b"zip application/zip"),
        (ShingleType.ATTACHMENT_SIZE, b"5000 zip"),
        (ShingleType.CHECKSUM, one.sha256),
        (ShingleType.MEMBER_NAME, normalise("Счет №1.doc").encode()),
        (ShingleType.MEMBER_CHECKSUM, b"1000 00000001"),
    ]


def test_a_size_tells_only_of_large_files_and_known_types() -> None:
    assert of(ShingleType.ATTACHMENT_SIZE, attachment(size=4095)) == []
    assert of(ShingleType.ATTACHMENT_SIZE, attachment(kind="")) == [b"5000 zip"]


def test_small_contents_are_everybodys() -> None:
    assert of(ShingleType.CHECKSUM, attachment(size=63)) == []
    assert of(ShingleType.PICTURE, attachment(size=63, picture=True)) == []
    assert len(of(ShingleType.PICTURE, attachment(picture=True))) == 1
    assert of(ShingleType.MEMBER_CHECKSUM, attachment(member(size=63), member(crc=-1))) == []


def test_names_that_programs_give_are_everybodys() -> None:
    names = (".DS_Store", "Thumbs.db", "readme.txt", "a.js", "._invoice.pdf", "")
    assert of(ShingleType.MEMBER_NAME, attachment(*(member(name) for name in names))) == []
    assert of(ShingleType.ATTACHMENT_NAME, attachment(name="")) == []


def test_the_largest_files_of_an_archive_stand_for_it() -> None:
    decoys = [member(f"decoy {number}.txt", size=100 + number) for number in range(200)]
    found = of(ShingleType.MEMBER_NAME, attachment(*decoys, member("payload.exe", size=9000)))
    assert len(found) == MAX_MEMBERS
    assert found[0] == b"payload.exe"


def test_attachments_are_limited() -> None:
    assert (
        len(
            of(
                ShingleType.ATTACHMENT_NAME,
                *[attachment(name=f"{number}.zip") for number in range(30)],
            )
        )
        == MAX_ATTACHMENTS
    )
