"""Which mailboxes make a reader: those of the site's own domains, and those that were added."""

from __future__ import annotations

from oborona.config.console import ConsoleSettings
from oborona.people.person import PeopleError, checked_addresses, normal_name


def reader_address(text: str) -> str:
    """Return a mail address in its normal form; empty where it is none that a name can be."""
    try:
        (address,) = checked_addresses([text])
    except PeopleError:
        return ""
    return address if normal_name(address) == address else ""


def makes_reader(address: str, settings: ConsoleSettings) -> bool:
    """Return whether who has a mailbox is made a reader."""
    return address.rpartition("@")[2] in settings.reader_domains.split()
