"""What counts what other servers tell of an account later: recipients whom its messages did not
reach, and logins that failed.

A bounce is a unique pair of the account and a recipient of a message, so that it counts once
however often it comes.  They are pieces of the types that count whom an account reaches, under
names that no account has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from oborona.message.delivery_status import FailedRecipient
from oborona.message.hashing import Hasher, ShingleType
from oborona.types import Shingle, UniquePair

_NOBODY: Final = b"\0"  # no type of what has recipients begins so
_BOUNCES: Final = _NOBODY + b"bounces "
_UNKNOWN: Final = _NOBODY + b"unknown users "
_FAILED: Final = _NOBODY + b"failed logins "


def bounces_key(login: str, hasher: Hasher) -> Shingle:
    """Return what counts the bounces of a login, in lower case."""
    return hasher.octets(ShingleType.ENTITY_RECIPIENTS, _BOUNCES + _octets(login))


def unknown_users_key(login: str, hasher: Hasher) -> Shingle:
    """Return what counts those of them that had no mailbox."""
    return hasher.octets(ShingleType.ENTITY_RECIPIENTS, _UNKNOWN + _octets(login))


def failed_logins_key(login: str, hasher: Hasher) -> Shingle:
    """Return what counts the logins of an account, in lower case, that failed."""
    return hasher.octets(ShingleType.ENTITY_RECIPIENTS, _FAILED + _octets(login))


def bounce_pairs(
    login: str, ident: int, failed: Iterable[FailedRecipient], hasher: Hasher, *, unknown: bool
) -> list[UniquePair]:
    """Return the pairs of an account and recipients whom one of its messages did not reach.

    Args:
        login: of the account, in lower case.
        ident: of the message in the journal.
        failed: recipients.
        hasher: holds the site's secret.
        unknown: the pairs that count those without a mailbox, and not all.
    """
    each = [
        b"%d %b" % (ident, _octets(one.address)) for one in failed if one.unknown or not unknown
    ]
    types = ShingleType.ENTITY_RECIPIENT, ShingleType.ENTITY_RECIPIENTS
    return hasher.pairs(*types, [(_UNKNOWN if unknown else _BOUNCES) + _octets(login)], each)


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
