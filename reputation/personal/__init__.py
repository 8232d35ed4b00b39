"""What one person wants of mail: whom they deny and allow, whom they know, how strict they are."""

from oborona.reputation.personal.entry import (
    BrokenEntry,
    Entry,
    Kind,
    Side,
    Source,
    entry,
    list_name,
    mail_address,
    of_octets,
    of_text,
)
from oborona.reputation.personal.person import LAXEST, NOBODY, STRICTEST, Found, Personal, Shown

__all__ = [
    "LAXEST",
    "NOBODY",
    "STRICTEST",
    "BrokenEntry",
    "Entry",
    "Found",
    "Kind",
    "Personal",
    "Shown",
    "Side",
    "Source",
    "entry",
    "list_name",
    "mail_address",
    "of_octets",
    "of_text",
]
