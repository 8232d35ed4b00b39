"""Builds the `Dissection` of a message from its parsed form and its hashed pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from oborona.message.dissection import (
    DissectedAttachment,
    DissectedEntity,
    DissectedFile,
    DissectedFinding,
    DissectedPair,
    DissectedPart,
    DissectedPicture,
    DissectedShingle,
    DissectedSignature,
    Dissection,
    RemovedText,
)
from oborona.message.hashing import LAST_TYPE, ShingleType
from oborona.message.model import EntityLocation, Message, MessagePart, Picture
from oborona.message.respelling import removed_lines, respellings
from oborona.types import CountedPieces, Finding, Shingle, UniquePair

SLOT_OCTETS: Final = 9  # of one value of a fingerprint: its place among them, and the value
SLOTS: Final = 32  # places are below: no text begins with such an octet once it is normalised
_OCTETS: Final = frozenset({ShingleType.CHECKSUM, ShingleType.PICTURE, ShingleType.PICTURE_HASH})


def build_dissection(
    message: Message,
    pieces: CountedPieces,
    sources: Mapping[Shingle, bytes],
    findings: Iterable[Finding],
    meanings: Mapping[str, str],
    *,
    signatures: Iterable[DissectedSignature] = (),
    file: str,
    keyed: bool,
) -> Dissection:
    """Return what there is to show of a message.

    Args:
        message: parsed.
        pieces: what it counts under.
        sources: what was hashed, of each of them (`Recorder`).
        findings: of the parser and of checks.
        meanings: what each of them says, by name.
        signatures: that it has.
        file: where the message came from.
        keyed: whether `pieces` are those of a site.

    Raises:
        KeyError: a piece without its source.
    """
    return Dissection(
        file=file,
        keyed=keyed,
        size=message.size,
        tree=_tree(message.parts),
        shown=message.text,
        text=message.normal_text,
        hidden=message.hidden_text,
        removed=RemovedText(
            hidden_share=message.hidden_share,
            not_own=removed_lines(message.text, message.own_text),
            respelled=respellings(message.text),
        ),
        entities=_entities(message),
        attachments=_attachments(message),
        pictures=[_shown(picture) for picture in message.pictures],
        shingles=[_dissect_shingle(shingle, sources[shingle]) for shingle in pieces.shingles],
        pairs=[_paired(pair, sources[pair.both]) for pair in pieces.pairs],
        findings=[
            DissectedFinding(finding.name, finding.evidence, meanings.get(finding.name, ""))
            for finding in findings
        ],
        signatures=list(signatures),
    )


def _tree(parts: tuple[MessagePart, ...]) -> DissectedPart:
    """Return the root of the tree; a part stands after the part that holds it."""
    nodes: dict[str, DissectedPart] = {}
    for part in parts:
        node = DissectedPart(
            path=part.path,
            type=part.content_type,
            charset=part.charset,
            encoding=part.encoding,
            disposition=part.disposition,
            name=part.name,
            size=part.size,
            children=[],
        )
        nodes[part.path] = node
        if part.path:
            nodes[part.path.rpartition(".")[0]].children.append(node)
    return nodes[""]


def _entities(message: Message) -> list[DissectedEntity]:
    links = [
        DissectedEntity(
            kind="link",
            value=link.url,
            raw="",
            place=link.place,
            host=link.host,
            domain=link.domain,
            shown=link.shown,
            through=link.through,
            user=link.user,
        )
        for link in message.links
    ]
    addresses = [
        DissectedEntity(kind="address", value=address, raw="", place=EntityLocation.TEXT)
        for address in message.addresses
    ]
    others = [
        DissectedEntity(kind=entity.kind, value=entity.value, raw=entity.raw, place=entity.place)
        for entity in message.entities
    ]
    return [*links, *addresses, *others]


def _attachments(message: Message) -> list[DissectedAttachment]:
    return [
        DissectedAttachment(
            name=attachment.name,
            type=attachment.content_type,
            kind=attachment.kind,
            size=attachment.size,
            sha256=attachment.sha256.hex(),
            picture=attachment.picture,
            encrypted=attachment.encrypted,
            macros=attachment.macros,
            files=[
                DissectedFile(
                    name=member.name,
                    kind=member.kind,
                    size=member.size,
                    crc=f"{member.crc:08x}" if member.crc >= 0 else "",
                    encrypted=member.encrypted,
                    depth=member.depth,
                )
                for member in attachment.members
            ],
        )
        for attachment in message.attachments
    ]


def _shown(picture: Picture) -> DissectedPicture:
    return DissectedPicture(
        name=picture.name,
        kind=picture.kind,
        place=picture.place,
        size=len(picture.octets),
        sha256=picture.sha256.hex(),
        looked=picture.looked,
        width=picture.width,
        height=picture.height,
        frames=picture.frames,
        hashes=[f"{value:016x}" for value in picture.hashes],
        codes=picture.codes,
        read=picture.read,
        text=picture.text,
    )


def _dissect_shingle(shingle: Shingle, source: bytes) -> DissectedShingle:
    form, text = _source(shingle.type, source)
    return DissectedShingle(
        type=shingle.type,
        name=_name(shingle.type),
        hash=f"{shingle.hash:016x}",
        source=text,
        form=form,
    )


def _paired(pair: UniquePair, source: bytes) -> DissectedPair:
    length = int.from_bytes(source[:4], "big")  # as `shingles` writes the two into one
    a, b = source[4 : 4 + length], source[4 + length :]
    return DissectedPair(
        type=pair.both.type,
        name=_name(pair.both.type),
        hash=f"{pair.both.hash:016x}",
        counts_type=pair.distinct.type,
        counts_name=_name(pair.distinct.type),
        counts_hash=f"{pair.distinct.hash:016x}",
        a=_source(pair.distinct.type, a)[1],
        b=_source(LAST_TYPE, b)[1],
    )


def _name(kind: int) -> str:
    return ShingleType(kind).name.lower()


def _source(kind: int, octets: bytes) -> tuple[str, str]:
    """Return the form of a piece and the piece as text."""
    if kind in _OCTETS:
        return "octets", octets.hex()
    if len(octets) == SLOT_OCTETS and octets[0] < SLOTS:
        return "value", f"{octets[0]}:{octets[1:].hex()}"
    return "text", octets.decode("utf-8", "replace")
