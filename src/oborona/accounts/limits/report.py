"""What is said of passed limits to the log, with their figures, to the metrics, and to the
inspector.
"""

from __future__ import annotations

import logging
from typing import Final

from oborona.accounts.excess import Excess
from oborona.accounts.limits.decision import LimitRuling, PassedLimit
from oborona.ident import to_text
from oborona.metrics import Counter
from oborona.telemetry.log import event
from oborona.types import Envelope, Stage

LIMITS: Final = Counter(
    "oborona_limits", "Outgoing messages beyond a limit.", ("limit", "then", "mode")
)

log = logging.getLogger("oborona.accounts")


def report_passed(ruling: LimitRuling, envelope: Envelope, ident: int, stage: Stage) -> None:
    """Log and count the limits that a message passed; never raises.

    Args:
        ruling: on the message.
        envelope: of the message.
        ident: its reference.
        stage: sender or content.
    """
    for passed in ruling.passed:
        limit = passed.limit
        LIMITS.inc(limit.name, limit.then, limit.mode)
        event(
            log,
            logging.INFO if limit.shadow else logging.WARNING,
            "limit",
            id=to_text(ident),
            stage=stage,
            limit=limit.name,
            login=envelope.login,
            client=envelope.client.ip,
            sender=envelope.sender,
            each=limit.each,
            count=limit.count,
            window=limit.window,
            value=passed.value,
            most=round(passed.most, 1),
            usual=passed.past.usual,
            then=limit.then,
            mode=limit.mode,
            done=ruling.action or "nothing",
        )


def excess_of(passed: PassedLimit, envelope: Envelope, ident: int | None, now: float) -> Excess:
    """Return the excess of a login that a message has shown.

    Args:
        passed: a limit.
        envelope: of the message.
        ident: its reference; None: no message shows it.
        now: Unix seconds.
    """
    limit = passed.limit
    return Excess(
        account=_as_unicode(envelope.login.lower()),
        limit=limit.name,
        metric=limit.count,
        window=limit.window,
        value=passed.value,
        most=passed.most,
        at=now,
        address=envelope.client.ip,
        usual=passed.past.usual,
        then=limit.then,
        shadow=limit.shadow,
        idents=() if ident is None else (ident,),
        evidence={
            "each": limit.each,
            "sender": _as_unicode(envelope.sender),
            "recipients": len(envelope.recipients),
        },
    )


def _as_unicode(text: str) -> str:
    """Return a text without lone surrogates, which JSON does not take."""
    return text.encode("utf-8", "replace").decode()
