"""The made-up site as the program keeps it: the same events, through the log of events and all that
is gathered from it.
"""

from pathlib import Path
from typing import Self

from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventKind, FeedbackEvent
from oborona.feedback.processing import campaign_review
from oborona.feedback.processing.event_decision import decide_event
from oborona.feedback.processing.event_message import EventMessage
from oborona.feedback.processing.ports import JournaledMessage, NoVerdicts
from oborona.message.hashing import Hasher, ShingleType
from tests.feedback.antifraud.site import Heard, Message, Site

HASHER = Hasher(b"a secret of histories")
JOURNALED = 1 << 40  # ids in a journal are large


class LogSite:
    """Hears what another site heard, in the same order.

    Args:
        folder: empty.
        site: its people's past is taken over.
    """

    def __init__(self, folder: Path, site: Site) -> None:
        self._log = EventLog(folder / "events.db")
        self._idents: dict[str, int] = {}
        self._campaigns: dict[str, int] = {}
        with self._log.transaction() as db:
            db.executemany(
                (
                    "INSERT INTO person (person, complaints, pardons, right, wrong, first) "
                    "VALUES (?, ?, ?, ?, ?, ?)"
                ),
                [
                    (name, one.complaints, one.pardons, one.right, one.wrong, one.first)
                    for name, one in site.people.items()
                    if one.first
                ],
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    def hear(self, heard: Heard) -> None:
        """Write an event down, and decide it."""
        event = FeedbackEvent(what=heard.what, way=heard.way, time=heard.time, person=heard.person)
        (receipt,) = self._log.add([event], now=heard.time)
        self._look(heard.time)
        with self._log.transaction() as db:
            stored = self._log.get(receipt.id)
            about = self._about(heard.message, heard.person)
            decide_event(db, stored, about, asked_for=heard.message.asked_for, now=heard.time)
        campaign = self._log.get(receipt.id).campaign
        if campaign:  # a duplicate is of none
            self._campaigns[heard.message.campaign] = campaign

    def believed(self, campaign: str, what: EventKind) -> int:
        """How many events of a campaign count now."""
        ((number,),) = self._log.rows(
            "SELECT count(*) FROM event WHERE campaign = ? AND what = ? AND counts",
            (self._campaigns.get(campaign, 0), what),
        )
        return int(number)

    def done(self, now: float) -> None:
        """Look at all campaigns that are due, once time has passed."""
        self._look(now + 60)

    def _look(self, now: float) -> None:
        while True:
            with self._log.told() as db:
                campaign = campaign_review.next_due_campaign(db, now)
            if not campaign:
                return
            campaign_review.review_campaign(self._log, campaign, now, NoVerdicts())

    def _about(self, message: Message, person: str) -> EventMessage:
        ident = self._idents.setdefault(message.name, len(self._idents) + 1)
        known = None
        if message.signed:
            known = JournaledMessage(
                id=JOURNALED + ident,
                time=message.delivered,
                verdict=message.verdict,
                recipients=frozenset((person,)) if message.recipient else frozenset(),
            )
        return EventMessage(
            message=ident.to_bytes(16),
            signed=message.signed,
            known=known,
            pieces=(HASHER.shingle(ShingleType.TEXT, message.campaign),),
        )
