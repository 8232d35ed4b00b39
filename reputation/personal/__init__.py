"""One person's mail profile: denied and allowed senders, contacts, and strictness."""

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
