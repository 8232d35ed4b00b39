"""IMAP over TLS from the start and after STARTTLS, with a certificate that is held to its name.

And a login by SASL PLAIN.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from oborona.recheck.mailboxes.model import MoveOutcome, MoveResult
from tests.peers.dovecot_mailboxes import MailboxDovecot
from tests.peers.ports import free_port

_TLS = """
ssl = yes
ssl_cert = <{folder}/certificate
ssl_key = <{folder}/key
service imap-login {{
  inet_listener imaps {{
    port = {port}
    ssl = yes
  }}
}}
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail.example.test")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return folder


@pytest.fixture(scope="module")
def tls_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def encrypted(certificates: Path, tls_port: int) -> Iterator[MailboxDovecot]:
    with MailboxDovecot(["joe"], extra=_TLS.format(folder=certificates, port=tls_port)) as running:
        yield running


@pytest.mark.parametrize("separator", ["*", ""])
@pytest.mark.parametrize("tls", ["tls", "starttls"])
async def test_a_move_over_tls(
    encrypted: MailboxDovecot, certificates: Path, tls_port: int, tls: str, separator: str
) -> None:
    port = tls_port if tls == "tls" else encrypted.imap_port
    letter = encrypted.deliver_letter("joe")
    boxes = encrypted.opened(
        "imap",
        move_listed=True,
        imap=f"inet:{port}@127.0.0.1",
        imap_tls=tls,
        imap_certificates=str(certificates / "certificate"),
        master_separator=separator,
    )
    assert await boxes.move([letter], "INBOX", "Junk") == [MoveResult(MoveOutcome.MOVED)]
    await boxes.close()


@pytest.mark.parametrize(
    ("tls", "host"), [("tls", "127.0.0.1"), ("starttls", "127.0.0.1"), ("tls", "localhost")]
)
async def test_nobody_who_can_not_show_who_he_is_gets_the_password(
    encrypted: MailboxDovecot, certificates: Path, tls_port: int, tls: str, host: str
) -> None:
    port = tls_port if tls == "tls" else encrypted.imap_port
    boxes = encrypted.opened(
        "imap",
        imap=f"inet:{port}@{host}",
        imap_tls=tls,
        imap_certificates=str(certificates / "certificate") if host == "localhost" else "",
    )
    logins = encrypted.log().count("Login: user=<joe>")
    (done,) = await boxes.look([encrypted.deliver_letter("joe")], "INBOX")
    assert done.outcome is MoveOutcome.BUSY
    assert "certificate" in done.say.lower()
    assert encrypted.log().count("Login: user=<joe>") == logins
    await boxes.close()
