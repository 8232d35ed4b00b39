"""Whatever is said, decided again and interrupted in whatever order: counters and lists hold what
is believed in the end, and nothing else.

The invariant: once nothing waits, a message's pieces count one complaint (pardon, trap, read) for
each event that counts and has a word or effect of its own, its spam only while no pardon by its id
counts, and a person's list has entries of exactly those words of theirs that act on it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from oborona.feedback.events.model import EventChannel, EventDecision, EventKind, StoredEvent
from oborona.feedback.label import LabelKind, LabelSource
from oborona.feedback.label_extraction import extract_label
from oborona.types import Action, Amounts
from tests.feedback.processing.scene import Scene
from tests.feedback.words import HASHER, KEY, NOW, letter

PEOPLE = ["ann@b.example", "bob@b.example", "eve@b.example", "zoe@b.example"]
LETTERS = {7: letter(1, LabelKind.SPAM), 8: letter(2, LabelKind.HAM), 9: letter(3, LabelKind.SPAM)}
DIGESTS = {
    ident: extract_label(raw, LabelKind.SPAM, LabelSource.COMMAND, hasher=HASHER, key=KEY, now=NOW)[
        0
    ].digest
    for ident, raw in LETTERS.items()
}
"""What a report of a message without an id of ours is known by."""


class Said(RuleBasedStateMachine):
    """A site on which anything is said."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.scene = Scene(Path(self.folder.name))
        for ident, raw in LETTERS.items():
            self.scene.deliver(
                ident, raw, *PEOPLE[:3], verdict=Action.SPAM if ident == 8 else Action.ACCEPT
            )
        self.scene.known_person(PEOPLE[0], right=10)
        self.quiet = True

    def teardown(self) -> None:
        self.scene.close()
        self.folder.cleanup()

    @rule(
        what=st.sampled_from(
            [
                EventKind.COMPLAINT,
                EventKind.COMPLAINT,
                EventKind.PARDON,
                EventKind.READ,
                EventKind.DELETED,
            ]
        ),
        person=st.sampled_from(PEOPLE),
        ident=st.sampled_from(list(LETTERS)),
        raw=st.booleans(),
        signed=st.sampled_from([True, True, True, False]),
    )
    def say(self, what: EventKind, person: str, ident: int, *, raw: bool, signed: bool) -> None:
        self.scene.say(
            what, person, ident=ident if signed else None, raw=LETTERS[ident] if raw else b""
        )
        self.quiet = False

    @rule(
        said=st.lists(
            st.sampled_from([EventKind.COMPLAINT, EventKind.PARDON]), min_size=2, max_size=4
        ),
        person=st.sampled_from(PEOPLE[:3]),
        ident=st.sampled_from(list(LETTERS)),
        raw=st.booleans(),
    )
    def change_their_mind(
        self, said: list[EventKind], person: str, ident: int, *, raw: bool
    ) -> None:
        """One person says this and that of one message, and some of it twice."""
        for what in said:
            self.say(what, person, ident, raw=raw, signed=True)

    @rule(ident=st.sampled_from([7, 9]))
    def trap(self, ident: int) -> None:
        self.scene.say(EventKind.TRAP, raw=LETTERS[ident], ident=ident, way=EventChannel.TRAP)
        self.quiet = False

    @rule(
        number=st.integers(1, 10),
        counts=st.booleans(),
        own=st.booleans(),
        weight=st.sampled_from([0.05, 0.5, 1.0]),
    )
    def decide(self, number: int, *, counts: bool, own: bool, weight: float) -> None:
        """Somebody decides an event again."""
        found = [
            one for one in self.scene.log.last(100) if one.id == number and one.decided is not None
        ]
        if found and "DUPLICATE" not in found[0].rules and found[0].message:
            own = own and found[0].own
            # nobody accepts what they refused before once its person has said the opposite
            counts = counts and (found[0].counts or not self.contradicted(found[0]))
            weight = 1.0 if found[0].what is EventKind.TRAP else weight
            one = EventDecision(
                counts=counts, own=own, weight=weight if counts else 0.0, say="test"
            )
            self.scene.log.decide([(number, one)], now=self.scene.now)
            self.quiet = False

    def contradicted(self, event: StoredEvent) -> bool:
        """Tell whether the person of a report said the opposite of this message since."""
        opposite = {
            EventKind.COMPLAINT: EventKind.PARDON,
            EventKind.PARDON: EventKind.COMPLAINT,
        }.get(event.what)
        return any(
            later.what is opposite
            and later.person == event.person
            and later.id > event.id
            and (later.message == event.message or (event.ident and later.ident == event.ident))
            for later in self.scene.log.last(100)
        )

    @rule()
    def start_again(self) -> None:
        self.scene.believer = self.scene.begun()

    @rule(steps=st.integers(1, 3))
    def step(self, steps: int) -> None:
        for _ in range(steps):
            self.scene.believer.step()
        self.scene.counting.step(self.scene.words, self.scene.now)

    @rule(seconds=st.sampled_from([0.0, 30.0, 3600.0]))
    def run(self, seconds: float) -> None:
        self.scene.pass_(seconds)
        self.quiet = True

    @precondition(lambda self: self.quiet)
    @invariant()
    def what_counts_is_what_is_believed(self) -> None:
        self.scene.run()
        events = self.scene.log.last(1000)
        assert all(one.decided is not None and one.done == one.turn for one in events)
        for ident in LETTERS:
            about = [one for one in events if ident == one.ident or DIGESTS[ident] == one.message]
            assert self.scene.counts(ident) == wanted(about, spam=ident == 8), ident
        standing = {
            (one.person, one.word)
            for one in events
            if one.own and one.word and one.what in (EventKind.COMPLAINT, EventKind.PARDON)
        }
        assert set(self.scene.lists.entries) == standing


def wanted(events: list[StoredEvent], *, spam: bool) -> Amounts:
    """Return what a message's pieces are to count."""

    def number(what: EventKind) -> int:
        counting = [one for one in events if one.what is what and one.counts and one.weight >= 0.1]
        if what in (EventKind.READ, EventKind.DELETED):
            return len(counting)
        return len({one.word for one in counting})

    return Amounts(
        seen=1,
        spam=int(
            spam
            and not any(one.what is EventKind.PARDON and one.counts and one.ident for one in events)
        ),
        complaints=number(EventKind.COMPLAINT),
        pardons=number(EventKind.PARDON),
        reads=number(EventKind.READ),
        traps=number(EventKind.TRAP),
    )


TestSaid = Said.TestCase
TestSaid.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
