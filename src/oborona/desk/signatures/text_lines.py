"""Signatures as lines of text or JSON."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from oborona.desk.refusals import MisusedCallError
from oborona.policy.signatures import BrokenSignature, Signature, check_signature
from oborona.policy.signatures.model import MAX_SIGNATURES

MAX_FILE: Final = 128 << 20  # bytes: 200,000 signatures as JSON


class ReadSignatures(NamedTuple):
    """What a file holds.

    Args:
        signatures: checked.
        passed_over: lines that can't be used, with place and reason.
    """

    signatures: list[Signature]
    passed_over: list[str]


def read_signatures(raw: bytes, called: str, pattern: Signature, *, skip: bool) -> ReadSignatures:
    """Return the signatures of a file.

    Args:
        raw: the file.
        called: its name.
        pattern: what is true of all lines of text.
        skip: pass over lines that can't be used; else nothing is read.

    Raises:
        MisusedCallError: a line can't be used, or there is too much.
    """
    if len(raw) > MAX_FILE:
        raise MisusedCallError(f"{called}: is larger than {MAX_FILE >> 20} MiB")
    signatures, passed_over = list[Signature](), list[str]()
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            signature = _signature(line, pattern)
        except (BrokenSignature, msgspec.DecodeError, UnicodeDecodeError) as fault:
            place = f"{called}:{number}: {fault}"
            if not skip:
                raise MisusedCallError(f"{place}; nothing was added") from None
            passed_over.append(place)
            continue
        if signature is not None:
            signatures.append(signature)
    if len(signatures) > MAX_SIGNATURES:
        raise MisusedCallError(f"{called}: holds more than {MAX_SIGNATURES} signatures")
    return ReadSignatures(signatures, passed_over)


def _signature(line: bytes, pattern: Signature) -> Signature | None:
    """Return the signature of a line, None for an empty one or a comment."""
    text = line.decode("utf-8").strip()
    if not text or text.startswith("#"):
        return None
    if text.startswith('{"'):
        return check_signature(
            msgspec.structs.replace(msgspec.json.decode(text, type=Signature), id="s1")
        )
    return check_signature(msgspec.structs.replace(pattern, value=text))
