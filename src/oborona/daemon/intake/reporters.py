"""The sender of a report: one of our own people, or a stranger.

From is what anybody writes, so it is not asked. The milter has seen the report before us, and
signed the id of its entry in the journal: there stands who logged in, or which client handed it in.
A login is a person's; a client in a network of the site, or on this machine, speaks for whom its
MAIL FROM names.  An entry speaks for a report only under the mail server's own queue id: an id that
was taken out of another message proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from typing import Final

from oborona.daemon.intake.feedback_loops import EntryFinder
from oborona.doors.delivery import entry_lookup
from oborona.doors.delivery.entry_lookup import JournalTiming
from oborona.doors.delivery.header_marks import HeaderMarks
from oborona.errors import StoreError
from oborona.feedback.events.message_reference import person_address
from oborona.ident import time_of_id, verify
from oborona.journal.entry import JournalEntry
from oborona.reputation.personal import mail_address

# that the journal may be behind: until then a mail is put off; later its entry was lost
BEHIND_S: Final = 600.0


class LocalReporters:
    """Identifies our own people.

    Args:
        networks: of the site.
        template: of the mail address of a login, as of [intake] person.
    """

    def __init__(self, networks: str, template: str) -> None:
        self._networks = tuple(map(ip_network, networks.split()))
        self._template = template

    def ours(self, entry: JournalEntry) -> bool:
        """Tell whether one of our own people sent a message."""
        return (
            bool(entry.login)
            or entry.facts.get("client_own") is True
            or self._near(entry.client_ip)
        )

    def person(self, entry: JournalEntry) -> str:
        """Return the mail address of who sent a report.

        Empty where that is none of our own people.
        """
        if entry.login:
            return person_address(entry.login, self._template)
        return mail_address(entry.sender) if self._near(entry.client_ip) else ""

    def _near(self, ip: str) -> bool:
        try:
            address = ip_address(ip)
        except ValueError:
            return False
        return address.is_loopback or any(address in network for network in self._networks)


async def entry_of_mail(
    entries: EntryFinder,
    marks: HeaderMarks,
    header: bytes,
    recipients: Sequence[str],
    *,
    key: bytes,
    expected: JournalTiming,
    now: float,
) -> JournalEntry | None:
    """Return the journal's entry of a mail that was just delivered to us.

    None where no id of ours, or that of another message, is on it.

    Args:
        entries: the journal.
        marks: that its header bears.
        header: its header block.
        recipients: of it.
        key: of the site, for signatures.
        expected: of the journal.
        now: Unix seconds.

    Raises:
        StoreError: the journal can't be read, or has not written the entry of what was judged a
            moment ago.
    """
    number = verify(marks.ident, key) if marks.ident else None
    if number is None:
        return None
    entry = await entry_lookup.find_entry(entries, number, expected, now)
    if entry is None:
        if abs(now - time_of_id(number)) < BEHIND_S:
            raise StoreError("the journal has no entry of this mail yet")
        return None
    shown = entry_lookup.claimed_identity(header, "")
    return (
        entry
        if any(
            entry_lookup.entry_matches(entry, shown, marks, recipient) for recipient in recipients
        )
        else None
    )
