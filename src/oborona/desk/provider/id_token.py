"""An ID token, believed only where all of it is as it must be.

Source: OpenID Connect Core 1.0, section 3.1.3.7; RFC 8725.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from oborona.errors import OboronaError

ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519",
    "EdDSA",
)  # fmt: skip
"""By a key that the provider alone has: no `none`, no HS, for which our own secret would do."""
SKEW_S: Final = 60  # that clocks may differ
MAX_AGE_S: Final = 600  # of a token that was just asked for
MAX_TOKEN: Final = 256 * 1024  # letters


class TokenRefusedError(OboronaError):
    """It is not believed; the text is for the log."""


class UnknownKeyError(TokenRefusedError):
    """It is signed by a key that is not known: perhaps the provider has a new one."""


def read_id_token(
    token: str, keys: Mapping[str, Any], *, issuer: str, client_id: str, nonce: str, now: float
) -> dict[str, Any]:
    """Return what a token says.

    Args:
        token: as it came; any text.
        keys: of the provider, a JWK set.
        issuer: who it must be from.
        client_id: whom it must be for.
        nonce: which must stand in it.
        now: Unix seconds.

    Raises:
        UnknownKeyError: its key is not among these.
        TokenRefusedError: it is not as it must be.
    """
    if len(token) > MAX_TOKEN:
        raise TokenRefusedError("it is too long")
    try:
        # keys that two share, and what is for encryption, are no keys of signatures here
        usable = [
            key
            for key in keys["keys"]
            if isinstance(key, dict) and key.get("kty") != "oct" and key.get("use", "sig") == "sig"
        ]
        read = jwt.decode(token, KeySet.import_key_set({"keys": usable}), algorithms=ALGORITHMS)
        claims = read.claims
        jwt.JWTClaimsRegistry(
            now=int(now),
            leeway=SKEW_S,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "value": client_id},
            exp={"essential": True},
            iat={"essential": True},
            sub={"essential": True},
        ).validate(claims)
    except InvalidKeyIdError as error:
        raise UnknownKeyError(str(error)) from error
    except (JoseError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise TokenRefusedError(f"{type(error).__name__}: {error}") from error
    audience, party = claims["aud"], claims.get("azp")
    several = isinstance(audience, list) and len(audience) != 1
    if (several or party is not None) and party != client_id:
        raise TokenRefusedError(f"it was given out to {str(party)[:200]!a}")
    if claims["iat"] < now - MAX_AGE_S - SKEW_S:
        raise TokenRefusedError("it is not of just now")
    told = claims.get("nonce")
    if not isinstance(told, str) or not hmac.compare_digest(told.encode(), nonce.encode()):
        raise TokenRefusedError("its nonce is another one's")
    return dict(claims)
