"""What fuzzing of the doors starts from: requests as real clients and mail servers write them."""

from __future__ import annotations

import base64
import zlib
from typing import Final

_LETTER: Final = b"From: ann@a.example\r\nSubject: hi\r\nX-Mras: Ok\r\n\r\n.Hello\r\n"
_LED: Final = (
    b"From ann@a.example Sun Nov 22 18:48:09 2026\nX-Envelope-From: "
    b'<ann@a.example>\nX-Envelope-To: joe@example.test, "x,y"@example.test\n'
    b"Received: from mail.a.example ([192.0.2.9] helo=client)\n\tby mx with esmtps (Exim "
    b"4.96)\n\tid 1xV-0-2J\n\tfor joe@example.test; Sun\n" + _LETTER
)
_PACKED: Final = zlib.compress(_LED)

SEEDS: Final[dict[str, tuple[bytes, ...]]] = {
    "exim": (
        b"oborona/1 ping\n",
        b"oborona/1 connect ip=192.0.2.9 name=mail.a.example port=4711 ours=25\n",
        (b"oborona/1 rcpt ip=2001:db8::1 from64=YUBi rcpt64=am9lQGV4YW1wbGUudGVzdA== "
            b"count=3 after=mail more=yes\noborona/1 ping\n"),
        (b"oborona/1 data ip=192.0.2.9 id=1xV headers64=%b body64=%b size=900 "
            b"rcpts64=YUBiLCAiYyxkIkBl\n")
        % (base64.b64encode(_LETTER[:40]), base64.b64encode(b"Hello")),
    ),
    "spamd": (
        b"CHECK SPAMC/1.5\r\nUser: joe\r\nContent-length: %d\r\n\r\n%b" % (len(_LED), _LED),
        b"PROCESS SPAMC/1.5\r\nCompress: zlib\r\nContent-length: %d\r\n\r\n%b" % (len(_PACKED), _PACKED),
        b"TELL SPAMC/1.5\r\nMessage-class: spam\r\nSet: local, remote\r\nUser: joe\r\n\r\n" + _LETTER,
        (b"CHECK RSPAMC/1.3\r\nQueue-Id: 1xV\r\nFrom: <a@b>\r\nRcpt: <c@d>\r\nHelo: "
            b"x\r\nIP: 192.0.2.9\r\n\r\n") + _LED,
        b"PING SPAMC/1.2\r\n",
        b"SYMBOLS SPAMC/1.0\r\n" + _LETTER,
    ),
    "received": (
        (b" from client (mail.a.example [192.0.2.9])\r\n\tby mx (Postfix) with ESMTPSA id "
            b"4F3\r\n\tfor <a@b>; Sun\r\n\t(Authenticated sender: joe)"),
        (b" from mail.a.example ([192.0.2.9] helo=client)\n\tby mx with esmtpsa (TLS1.3) "
            b"(Exim 4.96)\n\t(envelope-from <a@b>)\n\tid 1xV-0-2J"),
        b" from [192.0.2.9] (helo=client)\n\tby mx with esmtp (Exim 4.96)\n\tid 1xV",
        b" from unknown (HELO client) (192.0.2.9)\n  by mx with SMTP; 22 Nov",
        b" (qmail 1 invoked from network); 22 Nov",
        (b" from a (b [IPv6:2001:db8::1])\n\tby mx (OpenSMTPD) with ESMTPSA id 4f3 (TLS) "
            b"auth=yes user=joe"),
    ),
    "engine": (
        b'rspamd\n{"action":"add header","score":7.5,"required_score":15.0,"symbols":{"A":{"score":5.1},"B":{"score":-2}}}',
        (b"spamd\nSPAMD/1.1 0 EX_OK\r\nContent-length: 8\r\nSpam: True ; 21.3 / "
            b"5.0\r\n\r\nGTUBE,A\r\n"),
        b"clamd\nstream: Win.Test.EICAR_HDB-1 FOUND\0",
        b"clamd\nstream: OK\0",
        b"clamd\nINSTREAM size limit exceeded. ERROR\0",
    ),
    "letter": (_LETTER, _LED, b"no header at all\n", b"A: b", b"\r\nbody", b"A: b\n c\nnot a field\nB: c\n\nx"),
    "proxy": (
        b"XCLIENT\nNAME=mail.a.example ADDR=192.0.2.9 PORT=4711 HELO=a+20b LOGIN=[UNAVAILABLE]",
        b"XFORWARD\nADDR=IPV6:2001:db8::1 PROTO=ESMTP SOURCE=REMOTE IDENT=4F3",
        b'MAIL\nFROM:<"a b"@c.example> SIZE=1000 BODY=8BITMIME RET=HDRS',
        b"RCPT\nTO:<joe@example.test> NOTIFY=NEVER ORCPT=rfc822;a+40b",
        b"AUTH\nPLAIN\nAGpvZQBzZWNyZXQ=",
        b"AUTH\nXOAUTH2\ndXNlcj1qb2UBYXV0aD14AQE=",
        b"DATA\nSubject: x\r\n\r\n..dot\nbare\r\n.\r\nrest",
        b"\n250-first\r\n250 last\r\n421 4.3.0 away\r\n",
    ),
    "http": (
        b'IP:192.0.2.9\nHelo:client\nFrom:<ann@a.example>\nRcpt:joe@example.test,"x,y"@example.test\nUser:ann',
        b'\n{"raw":"U3ViamVjdDogeA0KDQo=","client":{"ip":"192.0.2.9","name":"a.example","port":25},"sender":"a@b","recipients":["c@d"]}',
        b'\n{"stage":"recipient","after":"connect","recipients":["c@d"],"login":"joe","port":"25"}',
        b'\n{"raw":"","helo":"con\xeeect"}',
    ),
    "opensmtpd": (
        b"filter|0.7|1576146008.006099|smtp-in|data-line|7641df9771b4ed00|1ef1c203cc576e5d|.\nSubject: hi|there\r\n\r\n.dot\r\n",
        b"report|0.6|1576146008.006099|smtp-in|link-connect|7641df9771b4ed00|a.example|pass|192.0.2.9:4711|192.0.2.25:25",
    ),
}  # fmt: skip
"""target -> inputs"""
