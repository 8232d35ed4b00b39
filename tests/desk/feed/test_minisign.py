"""Signatures of minisign: those of the program itself, ours, and what is none."""

from __future__ import annotations

import pytest

from oborona.desk.call import CallError
from oborona.desk.feed.minisign import (
    check_signature,
    new_signer,
    read_key,
    read_signer,
    sign,
    signer_text,
)

# made by minisign, from the tests of the library rust-minisign-verify
THEIRS = read_key("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3")
SIGNED = b"""untrusted comment: signature from minisign secret key
RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=
trusted comment: timestamp:1556193335\tfile:test
y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==
"""


def test_what_minisign_signed_is_known() -> None:
    assert check_signature(b"test", SIGNED, [new_signer().key, THEIRS]) == THEIRS


@pytest.mark.parametrize(
    ("raw", "signature", "why"),
    [
        (b"tesT", SIGNED, "does not fit"),
        (b"test", SIGNED.replace(b"file:test", b"file:best"), "does not fit"),
        (b"test", SIGNED.replace(b"RUQf6L", b"RUQf6M"), "by another key"),
        (b"test", SIGNED.replace(b"RUQf", b"RWQf"), "no file of minisign"),  # not hashed before
        (b"test", SIGNED[:150], "no file of minisign"),
        (b"test", b"", "no file of minisign"),
        (b"test", b"\xff\n\xff\ntrusted comment: \n\xff\n", "no file of minisign"),
    ],
)
def test_what_was_changed_is_refused(raw: bytes, signature: bytes, why: str) -> None:
    with pytest.raises(CallError, match=why):
        check_signature(raw, signature, [THEIRS])


def test_a_key_of_ours_signs_and_is_read_again() -> None:
    signer = read_signer(signer_text(new_signer()))
    assert check_signature(b"x", sign(b"x", signer, "words"), [read_key(signer.key.text)])
    line = signer_text(signer).splitlines()[1]
    for broken, why in (
        (b"", "no secret key"),
        (b"c\n" + line[:-8] + b"AAAAAAA=", "is damaged"),
        (b"c\n" + line[:3] + b"TYw" + line[6:], "a password locks"),
    ):
        with pytest.raises(CallError, match=why):
            read_signer(broken)
    with pytest.raises(CallError, match="no public key"):
        read_key("RWx")
