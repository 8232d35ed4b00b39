"""What a desk is known by to desks of other machines: a key, and a certificate that it has signed
itself.

The certificate is for TLS, and its key for what the desk says of its people (`voucher`).  It has
no end, as a clock that is wrong must not part machines; who takes it for another's has it in a file
of the site, and takes that away.

Source: RFC 8410 (Ed25519 in certificates), RFC 5280 section 4.1.2.5 (no end).
"""

from __future__ import annotations

import os
import ssl
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import NameOID

from oborona import state_files
from oborona.errors import ConfigError, StoreError

BEGIN: Final = datetime(2020, 1, 1, tzinfo=UTC)
END: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
LONGEST_NAME: Final = 64  # letters of a common name
MOST_OCTETS: Final = 1 << 20  # of a file of certificates


class DeskIdentity(NamedTuple):
    """A desk's own.

    Args:
        key: signs.
        certificate: PEM, what other machines are given.
        mark: of the certificate.
        file: both of them, for TLS.
    """

    key: Ed25519PrivateKey
    certificate: bytes
    mark: str
    file: Path


class KnownDesk(NamedTuple):
    """Another one, by its certificate.

    Args:
        key: with which its words are checked.
        mark: of the certificate.
    """

    key: Ed25519PublicKey
    mark: str


def own_identity(state: Path, name: str) -> DeskIdentity:
    """Return the identity of this machine's desk; the first who asks makes it.

    Args:
        state: the state folder.
        name: of the site, for people who read the certificate.

    Raises:
        StoreError: it can't be read or made.
    """
    path = state / state_files.DESK_IDENTITY
    if not state.is_dir():
        raise StoreError(f"{state} is not there: start Oborona once")
    try:
        try:
            octets = path.read_bytes()
        except FileNotFoundError:
            _make(path, name)
            octets = path.read_bytes()
        key = serialization.load_pem_private_key(octets, None)
        certificate = x509.load_pem_x509_certificate(octets)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StoreError(f"{path}: {why}") from error
    if not isinstance(key, Ed25519PrivateKey) or certificate.public_key() != key.public_key():
        raise StoreError(f"{path}: the certificate is not of the key")
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    return DeskIdentity(key, pem, certificate_mark(certificate), path)


def known_desks(path: Path) -> list[KnownDesk]:
    """Return the desks whose certificates a file has; one at least.

    Raises:
        ConfigError: it has none, or what is no certificate of a desk.
    """
    try:
        with path.open("rb") as file:
            octets = file.read(MOST_OCTETS)
        found = [
            KnownDesk(_key_of(certificate), certificate_mark(certificate))
            for certificate in x509.load_pem_x509_certificates(octets)
        ]
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ConfigError(
            f"{path}: no certificate as `oborona desk-certificate` shows it: {error}"
        ) from error
    return found


def certificate_mark(certificate: x509.Certificate | bytes) -> str:
    """Return by what a certificate, or its DER, is told from all others."""
    if isinstance(certificate, bytes):
        certificate = x509.load_der_x509_certificate(certificate)
    return certificate.fingerprint(hashes.SHA256()).hex()


def tls_context(identity: DeskIdentity, trusted: Path, *, serves: bool) -> ssl.SSLContext:
    """Return how both sides show their certificates to each other; no other one is taken.

    Args:
        identity: our own.
        trusted: file of the others' certificates.
        serves: whether we are asked.

    Raises:
        ConfigError: a file can't be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if serves else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # the certificate itself is known, whatever name it bears
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_cert_chain(identity.file)
        context.load_verify_locations(trusted)
    except OSError as error:
        raise ConfigError(f"{trusted}: {error.strerror or error}") from error
    return context


def _key_of(certificate: x509.Certificate) -> Ed25519PublicKey:
    key = certificate.public_key()
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError("its key is not of Ed25519")  # noqa: TRY004 - of the file, not of code
    return key


def _make(path: Path, name: str) -> None:
    """Make a key and a certificate; of two who do at once, one stands."""
    key = Ed25519PrivateKey.generate()
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:LONGEST_NAME] or "desk")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(called)
        .issuer_name(called)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(BEGIN)
        .not_valid_after(END)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, None)
    )
    octets = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ) + certificate.public_bytes(serialization.Encoding.PEM)
    number, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600
    try:
        with os.fdopen(number, "wb") as file:
            file.write(octets)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(made, path)
    finally:
        Path(made).unlink()
