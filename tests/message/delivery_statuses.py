"""Delivery statuses as servers write them, and the notification that one comes in."""

from __future__ import annotations

POSTFIX = b"""\
Reporting-MTA: dns; mx.example.org
X-Postfix-Queue-ID: 4XyZ1234
X-Postfix-Sender: rfc822; ann@example.org
Arrival-Date: Thu, 26 Nov 2026 10:00:00 +0000 (UTC)

Final-Recipient: rfc822; Bob@b.example
Original-Recipient: rfc822;bob@alias.example
Action: failed
Status: 5.1.1
Remote-MTA: dns; mx.b.example
Diagnostic-Code: smtp; 550 5.1.1 <bob@b.example>: Recipient address rejected:
    User unknown in virtual mailbox table

Final-Recipient: rfc822; eve@c.example
Action: delayed
Status: 4.4.1
Diagnostic-Code: X-Postfix; connect to mx.c.example[192.0.2.1]:25: timed out
"""
EXIM = b"""\
Reporting-MTA: dns; mail.example.net

Action: failed
Final-Recipient: rfc822;nobody@b.example
Status: 5.0.0
Remote-MTA: dns; mx.b.example
Diagnostic-Code: smtp; 550 5.1.1 No such user here
"""
GOOGLE = b"""\
Reporting-MTA: dns; googlemail.com
Arrival-Date: Thu, 26 Nov 2026 02:00:00 -0800 (PST)
X-Original-Message-ID: <1@example.org>

Final-Recipient: rfc822; gone@gmail.com
Action: failed
Status: 5.2.1
Diagnostic-Code: smtp; 550-5.2.1 The email account that you tried to reach is inactive. For
 550 5.2.1 more information, go to https://support.google.com/mail/?p=DisabledUser
Last-Attempt-Date: Thu, 26 Nov 2026 02:00:01 -0800 (PST)
"""
EXCHANGE = b"""\
Reporting-MTA: dns;AM6PR01MB1234.eurprd01.prod.exchangelabs.com
Received-From-MTA: dns;mx.example.org
Arrival-Date: Thu, 26 Nov 2026 10:00:00 +0000

Final-Recipient: rfc822;nobody@firm.example
Action: failed
Status: 5.4.1
Diagnostic-Code: smtp;550 5.4.1 Recipient address rejected: Access denied. [AM6PR01]
"""
FULL = b"""\
Reporting-MTA: dns; mx.example.org

Final-Recipient: utf-8; j\xc3\xb6rg@b.example
Action: Failed
Status: 5.2.2 (mailbox full)
"""


def notification(status: bytes) -> bytes:
    """Return a notification, line ends LF, with the status that a server gives."""
    return (
        b"From: MAILER-DAEMON@b.example\nTo: ann@example.org\nSubject: Undelivered\n"
        b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n"
        b"--b\n\nIt did not arrive.\n--b\nContent-Type: message/delivery-status\n\n"
        + status
        + b"\n--b\nContent-Type: text/rfc822-headers\n\nSubject: Hello\n"
        b"X-Mras-Id: 0000000000007.JLEIJFTV2NXDLBFU\n\n--b--\n"
    )
