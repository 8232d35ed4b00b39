"""What fuzzing of wires, records and stores starts from: packets, answers and records as they
really are.
"""

from __future__ import annotations

import struct
from typing import Final

from oborona.counters.batch import encode
from oborona.counters.buffer import AddBuffer
from oborona.counters.record import cells, key_of
from oborona.counters.window import bucket_of
from oborona.ident import to_text
from oborona.types import Amounts, CounterPrefix, Shingle

_NOW: Final = 1_795_170_000.0


def _packet(command: bytes, data: bytes = b"") -> bytes:
    return struct.pack("!I", len(data) + 1) + command + data


def _spool() -> bytes:
    buffer = AddBuffer()
    one, other = (
        key_of(shingle, CounterPrefix.IN) for shingle in (Shingle(1, 7), Shingle(2, 1 << 63))
    )
    buffer.add([one, other], [(one, other)], Amounts(seen=1, spam=1), _NOW)
    return encode(buffer, 1, _NOW)


_BUCKET: Final = bucket_of(_NOW)
_A: Final = b"\xc0\x0c\0\1\0\1\0\0\1\0\0\4\xc0\0\2\1"
_SOA: Final = b"\xc0\x0c\0\6\0\1\0\0\1\0\0\x18\1a\0\1b\0" + b"\0\0\0\1" * 5
SEEDS: Final[dict[str, tuple[bytes, ...]]] = {
    "milter": (
        b"".join(
            (
                _packet(b"O", struct.pack("!III", 6, 0x1FF, 0x1FFFFF)),
                _packet(b"D", b"C{daemon_name}\0mx\0j\0mx.test\0"),
                _packet(b"C", b"a.example\0" b"4\x10\x01192.0.2.9\0"),
                _packet(b"H", b"a.example\0"),
                _packet(b"M", b"<ann@a.example>\0SIZE=99\0"),
                _packet(b"R", b"<joe@example.test>\0"),
                _packet(b"T"), _packet(b"L", b"Subject\0hi\0"), _packet(b"N"), _packet(b"B", b"Hello\r\n"), _packet(b"E"), _packet(b"Q"),
            )
        ),
        _packet(b"C", b"a\0" b"6\0\x19IPv6:2001:db8::1\0") + _packet(b"A") + _packet(b"K"),
    ),
    "policy-service": (
        b"request=smtpd_access_policy\nprotocol_state=RCPT\nclient_address=192.0.2.9\nclient_name=a.example\nhelo_name=a\nsender=ann@a.example\nrecipient=joe@b.example\ninstance=1.2\n\n",
    ),
    "sieve": (
        (b"VERSION\tscript\t4\t0\nenv_USER=joe\n-\nwhat=complaint\nuser=joe\n\nSubject: "
            b"x\r\n\r\nHello"),
        b"VERSION\tscript\t3\t0\nnoreply\nwhat=pardon\nuser=a\x01tb\n\n",
    ),
    "name-server": (b"\0" + b"\0\0\x81\x80\0\1\0\1\0\0\0\0\1a\7example\0\0\1\0\1" + _A, b"\0" + _A + _SOA, b"\6\xc0\x0c\0\x10\0\1\0\0\1\0\0\4\3a=b"),
    "cluster": (
        b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n192.0.2.1\r\n:6379\r\n",
        b"-MOVED 3999 192.0.2.2:6381\r\n",
        b"-ERR This instance has cluster support disabled\r\n",
    ),
    "lying-dns": (
        (b"v=spf1 include:b.example a mx -all\nv=DMARC1; p=reject\nv=DKIM1; k=rsa; "
            b"p=QUJD\n\nDKIM-Signature: v=1; a=rsa-sha256; d=a.example; s=s; h=from; "
            b"bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=QUJD\r\nFrom: "
            b"ann@a.example\r\n\r\nHello\r\n"),
        (b"v=spf1 exists:%{ir}.%{l1r-}.a.example redirect=c.example\n?\n\n\nARC-Seal: i=1; "
            b"cv=none; a=rsa-sha256; d=a.example; s=s; b=QUJD\r\nARC-Message-Signature: i=1; "
            b"a=rsa-sha256; d=a.example; s=s; h=from; bh=QUJD; "
            b"b=QUJD\r\nARC-Authentication-Results: i=1; mx; spf=pass\r\nFrom: "
            b"ann@a.example\r\n\r\nHello\r\n"),
    ),
    "record": (
        key_of(Shingle(1, 7), CounterPrefix.IN) + cells([3, 1, 0, 0, 0, 0], _BUCKET) + cells([1000, 0, 0, 0, 0, 0], _BUCKET - 200, day=False),
        key_of(Shingle(2, 9), CounterPrefix.OUT) + cells([1, 0, 0, 0, 0, 0], _BUCKET, taken=True),
    ),
    "spool": (_spool(),),
    "entry-name": (to_text(7 << 22).encode(), b"0000000000007.JLEIJFTV2NXDLBFU"),
    "native": (
        b"win.*\\d+\n<p>\xd0\x94\xd0\xb5\xd0\xbd\xd1\x8c\xd0\xb3\xd0\xb8 <b>win 100</b>",
        b"(a|b)+$\n\xc4\xe5\xed\xfc\xe3\xe8 \xf1\xe5\xe3\xee\xe4\xed\xff",
        b"x\n" + "a\u0316\u0301\ufdfa\u3316".encode() * 20,
    ),
}  # fmt: skip
"""target -> inputs"""
