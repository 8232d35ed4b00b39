"""An alert as an HTTP POST of JSON, signed where the site has a key.

    POST URL
    Content-Type: application/json
    X-Oborona-Signature: t=1795420800,v1=<64 hex digits>

The signature is HMAC-SHA-256 over the time, a full stop and the body: who has the key can tell that
the alert is ours, and by the time that nobody sent it again.  Redirects are not followed: an alert
goes where the admin has said.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

import aiohttp

SIGNATURE: Final = "X-Oborona-Signature"
ANSWER_BYTES: Final = 1024  # of the body of an answer; nobody reads it


class DeliveryFailed(Exception):  # noqa: N818 - reads as what happened
    """An attempt that failed.

    Args:
        problem: one line.
        again: another attempt may succeed.
    """

    def __init__(self, problem: str, *, again: bool = True) -> None:
        super().__init__(problem)
        self.again = again


def webhook_signature(body: bytes, key: bytes, now: float) -> str:
    """Return the value of the header that vouches for a body."""
    stamp = str(int(now))
    digest = hmac.new(key, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={stamp},v1={digest}"


async def post_webhook(url: str, body: bytes, *, key: bytes, now: float, within_s: float) -> None:
    """Post a body.

    Args:
        url: where.
        body: JSON.
        key: to sign with; empty = not.
        now: Unix seconds.
        within_s: seconds that it may take.

    Raises:
        Undelivered: it was not taken.
    """
    headers = {"Content-Type": "application/json", "User-Agent": "Oborona"}
    if key:
        headers[SIGNATURE] = webhook_signature(body, key, now)
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=within_s)) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as answer,
        ):
            await answer.content.read(ANSWER_BYTES)
            status = answer.status
    except TimeoutError:
        raise DeliveryFailed(f"no answer within {within_s:g} s") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise DeliveryFailed(f"{type(error).__name__}: {error}") from error
    if not 200 <= status < 300:
        raise DeliveryFailed(f"answered {status}", again=status >= 500 or status in (408, 425, 429))
