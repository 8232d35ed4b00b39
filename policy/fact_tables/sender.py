"""Facts about HELO, MAIL FROM and RCPT TO."""

from __future__ import annotations

from typing import Final

from oborona.policy.expression.forms import Form
from oborona.policy.fact_tables.area import Area, Words, fact
from oborona.types import Stage

_S, _R = Stage.SENDER, Stage.RECIPIENT

AREA: Final = Area(
    "Sender and recipient",
    (
        fact("helo", str, _S, "what the client called itself", example="mail.example.org"),
        fact("sender", str, _S, "MAIL FROM, empty for a bounce", example="anna@example.org"),
        fact(
            "sender.domain",
            str,
            _S,
            "domain of MAIL FROM",
            example="example.org",
            form=Form.SMALL,
        ),
        fact(
            "lists.sender",
            Words,
            _S,
            "DNS lists that list the HELO name or the domain of MAIL FROM",
            example=frozenset({"SPAMHAUS_DBL"}),
            form=Form.CAPITAL,
        ),
        fact("login", str, _S, "SASL login, empty when the client did not authenticate", example="bob"),
        fact(
            "recipient",
            str,
            _R,
            "the recipient that is being asked about; of a whole message the first",
            example="bob@example.com",
        ),
        fact("recipient.domain", str, _R, "its domain", example="example.com", form=Form.SMALL),
        fact(
            "recipients",
            int,
            _R,
            "how many recipients the message has; while one is asked about, that one included",
            example=1,
        ),
        fact(
            "recipients.traps",
            int,
            Stage.CONTENT,  # no answer at RCPT TO may tell which addresses are traps
            "how many of them are traps",
            example=1,
        ),
    ),
)
