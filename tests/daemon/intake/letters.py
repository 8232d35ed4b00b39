"""Mail to the door of reports, as people and sites write it."""

from __future__ import annotations

from typing import Final

from oborona.ident import sign

KEY: Final = b"k" * 32
BOUNDARY: Final = b"=_part"


def spam(
    ident: int | None = 7,
    *,
    key: bytes = KEY,
    message_id: str = "spam-1@bad.example",
    more: bytes = b"",
) -> bytes:
    """Return a message as it lies in a mailbox, signed by us."""
    signed = b"" if ident is None else b"X-Mras-Id: " + sign(ident, key).encode() + b"\r\n"
    return (
        b"Received: from bad.example by mx.test; Fri, 20 Nov 2026 10:00:00 +0000\r\nFrom: Shop "
        b"<shop@bad.example>\r\nTo: ann@b.example\r\n"
        b"Subject: Pills\r\nMessage-ID: <"
        + message_id.encode()
        + b">\r\n"
        + more
        + signed
        + b"\r\nCheap pills.\r\n"
    )


def forwarded(*messages: bytes, head: bytes = b"", kind: bytes = b"message/rfc822") -> bytes:
    """Return a mail with messages attached."""
    parts = b"".join(
        b"--"
        + BOUNDARY
        + b"\r\nContent-Type: "
        + kind
        + b"\r\nContent-Disposition: attachment\r\n\r\n"
        + one
        + b"\r\n"
        for one in messages
    )
    return (
        (
            b"From: Ann <ann@b.example>\r\nTo: spam@b.example\r\nSubject: Fwd: "
            b"Pills\r\nMessage-ID: <fwd@b.example>\r\n"
        )
        + head
        + b'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="'
        + BOUNDARY
        + b'"\r\n\r\n--'
        + BOUNDARY
        + b"\r\nContent-Type: text/plain\r\n\r\nThis is spam.\r\n"
        + parts
        + b"--"
        + BOUNDARY
        + b"--\r\n"
    )


def arf(
    message: bytes,
    *fields: str,
    sender: str = "feedback@arf.mail.yahoo.example",
    kind: bytes = b"message/rfc822",
) -> bytes:
    """Return a feedback report (RFC 5965 appendix B)."""
    report = "".join(f"{one}\r\n" for one in fields).encode()
    return b"".join(
        (
            (f"From: <{sender}>\r\nTo: loops@b.example\r\nSubject: FW: "
                f"Pills\r\nMessage-ID: <report@{sender}>\r\n").encode(),
            (b'MIME-Version: 1.0\r\nContent-Type: multipart/report; '
                b'report-type=feedback-report; boundary="') + BOUNDARY + b'"\r\n\r\n',
            b"--" + BOUNDARY + (b"\r\nContent-Type: text/plain; charset=US-ASCII\r\n\r\nThis is "
                b"an email "
                b"abuse report.\r\n"),
            b"--" + BOUNDARY + b"\r\nContent-Type: message/feedback-report\r\n\r\n" + report + b"\r\n",
            b"--" + BOUNDARY + b"\r\nContent-Type: " + kind + b"\r\nContent-Disposition: inline\r\n\r\n" + message + b"\r\n",
            b"--" + BOUNDARY + b"--\r\n",
        )
    )  # fmt: skip


ABUSE: Final = ("Feedback-Type: abuse", "User-Agent: Yahoo!-Mail-Feedback/2.0", "Version: 0.1")
