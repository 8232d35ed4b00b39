"""The name in From is the recipient's own address, mailbox or domain, and somebody else's domain
stands behind it.
"""

from __future__ import annotations

import re
from typing import Final

from oborona.domains import registrable
from oborona.policy.brands import neutral_words
from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "recipient-as-sender"

LOOKED_AT: Final = 200  # characters of a display name
MIN_LABEL: Final = 4  # letters of a firm's name: shorter ones stand in other words
MAX_READERS: Final = 10  # recipients that are compared: such letters are written one by one
_WORDS: Final = re.compile(r"[^\W_]+(?:[.-][^\W_]+)*")


def check(context: CheckContext) -> Finding | None:
    """Return a finding with the name: "example.com Support", "ann@example.com".

    The bare name of a firm counts beside words of an office alone: "Example Support", and not
    "Example Relief".  A person who writes to himself from elsewhere has his name in From, not his
    address; what is called like the whole mailbox alone is a person's own name.
    """
    box = context.message.from_
    if box is None or not box.name or not box.domain:
        return None
    name = box.name[:LOOKED_AT].lower()
    site = registrable(box.domain)
    for recipient in context.envelope.recipients[:MAX_READERS]:
        address = recipient.lower()
        domain = address.rpartition("@")[2]
        own = registrable(domain)
        if not own or own == site:
            continue
        label = own.partition(".")[0]
        words = _WORDS.findall(name)
        if (
            address in name
            or own in words
            or domain in words
            or (label in words and label not in site and _is_office(words, label))
        ):
            return Finding(SLUG, quoted(f"{box.name} <{box.address}> to {domain}", 160))
    return None


def _is_office(words: list[str], label: str) -> bool:
    beside = [word for word in words if word != label]
    return (
        len(label) >= MIN_LABEL and bool(beside) and all(word in neutral_words() for word in beside)
    )
