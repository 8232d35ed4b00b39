"""What one person wants of mail: whom they deny and allow, whom they know, how strict they are."""

from oborona.reputation.personal.entry import (
    EntryAction,
    InvalidPersonalEntry,
    PersonalEntry,
    PersonalEntryKind,
    PersonalEntrySource,
    entry,
    list_name,
    mail_address,
    of_octets,
    of_text,
)
from oborona.reputation.personal.person import (
    LAXEST,
    NOBODY,
    STRICTEST,
    MessageOrigin,
    PersonalMatch,
    PersonalProfile,
)

__all__ = [
    "LAXEST",
    "NOBODY",
    "STRICTEST",
    "EntryAction",
    "InvalidPersonalEntry",
    "MessageOrigin",
    "PersonalEntry",
    "PersonalEntryKind",
    "PersonalEntrySource",
    "PersonalMatch",
    "PersonalProfile",
    "entry",
    "list_name",
    "mail_address",
    "of_octets",
    "of_text",
]
