"""What must hold of what an admin writes and of what lies in the state folder, whatever octets they
are.
"""

from __future__ import annotations

import contextlib
import hashlib
import struct
import tempfile
import zlib
from functools import cache
from pathlib import Path

import msgspec

from oborona.errors import PolicyError, StoreError
from oborona.feedback.weights_file import HEADER_BYTES, WeightsFile, WeightsHeader, create_weights
from oborona.journal.evidence import unpack_evidence
from oborona.journal.rows import unpack
from oborona.policy.counts import MessageCounts
from oborona.policy.expression import CompiledRules, compile_rules
from oborona.policy.fact_table import SCHEMA
from oborona.policy.facts import Facts
from oborona.policy.merge import merge
from oborona.policy.models.final.file import MAGIC, BrokenModel, decode
from oborona.policy.rules import Rule
from oborona.policy.scripts.loader import LoadedScripts
from oborona.toml import parse
from oborona.types import Stage
from tests.fuzz.common import text_of

EMPTY = Facts(known=MessageCounts())
_START = struct.calcsize("<8sII16sQQ")
_ROW = 20  # columns of a verdict


def expression(octets: bytes) -> None:
    """A condition, with words and a formula after it, is compiled or refused with its place.

    What is compiled never fails but by name.
    """
    when, say, score = (*text_of(octets).split("\0"), "", "")[:3]
    try:
        compiled = compile_rules([Rule(name="A", when=when, say=say, score=score or 1.0)], SCHEMA)
    except PolicyError as error:
        place = error.line
    else:
        _runs(compiled)
        return
    assert place


def _runs(compiled: CompiledRules) -> None:
    hits, errors = compiled.run(EMPTY, Stage.RECHECK)
    assert not errors
    for hit in hits:
        assert hit.say.isprintable()
        assert hit.score == hit.score  # no NaN


def policy(octets: bytes) -> None:
    """A file is a policy, or refused as one whole."""
    try:
        document = parse(octets, "a.toml", PolicyError)
        found = merge([document])
        compile_rules(found.rules, SCHEMA, found.conditions)
    except PolicyError as error:
        str(error).encode()


def script(octets: bytes) -> None:
    """A script is loaded and can be run, or is refused."""
    try:
        loaded = LoadedScripts({"a.lua": octets}, SCHEMA)
        bound = loaded.bound(merge([loaded.document("a.lua")]).rules)
    except PolicyError as error:
        str(error).encode()
        return
    if bound is not None:
        bound.judge(EMPTY, Stage.RECHECK)


@cache
def _weights() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    folder = tempfile.TemporaryDirectory(prefix="fuzz-weights-")
    path = Path(folder.name) / "weights"
    create_weights(path, WeightsHeader())
    return folder, path


def weights(octets: bytes) -> None:
    """Weights with any header under a right checksum, and with any other header, are read or
    refused.
    """
    _, path = _weights()
    sealed = struct.pack("<II", len(octets), zlib.crc32(octets)) + octets
    for header in (sealed, octets):
        with path.open("r+b") as file:
            file.seek(_START)
            file.write(header[: HEADER_BYTES - _START].ljust(HEADER_BYTES - _START, b"\0"))
        try:
            WeightsFile(path).follow()
        except StoreError as error:
            str(error).encode()


def final_model(octets: bytes) -> None:
    """A file of any contents under a right digest is a model that answers, or is refused."""
    try:
        decode(MAGIC + hashlib.sha256(octets).digest() + octets)
    except BrokenModel as error:
        str(error).encode()


def journal_row(octets: bytes) -> None:
    """A row of any texts is an entry, or is damaged by an error that readers of the journal take
    for that.
    """
    pieces = octets.split(b"\0")
    texts = [text_of(piece) for piece in (*pieces, *[b""] * 8)]
    rules, recipients, would, findings, facts, names = texts[:6]
    verdict = (
        1, 1.0, "accept", 0.0, 100.0, "", 0, "", 0, None, None, None, "192.0.2.1", "", "", "",
        recipients, "", rules, would or None,
    )  # fmt: skip
    assert len(verdict) == _ROW
    evidence = (1, findings, 1 if names else None, facts, (pieces[6:] or [b""])[0], None)
    with contextlib.suppress(ValueError, struct.error, msgspec.MsgspecError, RecursionError):
        unpack(verdict, evidence, names or None)


def kept(octets: bytes) -> None:
    """Counts of any contents are read, or refused by a ValueError."""
    for stored in (octets, zlib.compress(octets)):
        with contextlib.suppress(ValueError):
            unpack_evidence(stored)
