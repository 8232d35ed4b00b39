"""What has changed since the last look: words, signatures, pins, the policy.

Nothing twice, and nothing passed over by a restart.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.daemon.keeper.changes import ChangeWatcher, RecheckTrigger
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.errors import StoreError, StoreFull
from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.label import Label, LabelKind, LabelSource
from oborona.feedback.label_outbox import LabelOutbox
from oborona.feedback.label_store import LabelStore
from oborona.message.hashing import Hasher, ShingleType
from oborona.policy.signatures import Signature
from oborona.policy.signatures.model import SignatureFlag, SignatureKind
from oborona.recheck.engine.model import RecheckCause
from oborona.recheck.moves import MoveStore
from oborona.stores.signatures.rows import SignatureState
from oborona.stores.signatures.store import SignatureStore
from oborona.types import Shingle

LINES = "[verdict]\nspam_score = 100\nreject_score = 200\n"
RULE = '[[rule]]\nname = "RULE"\nwhen = "links > 1"\nscore = {}\n'
TEXT = Shingle(ShingleType.TEMPLATE, 7)
HASHER = Hasher(b"k" * 32)


class Site:
    """A state folder, and who looks."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.policy = folder / "policy"
        self.state.mkdir()
        self.policy.mkdir()
        self.write(50)
        self.begin()

    def begin(self) -> None:
        """Begin as a process does."""
        self.moves = MoveStore(self.state / state_files.MOVES)
        self.in_force = PolicyInForce(self.state, self.policy)
        self.changes = ChangeWatcher(
            self.state, self.moves, self.in_force, HASHER, window_s=86_400.0, clock=time.time
        )

    def end(self) -> None:
        """End as a process does."""
        self.changes.close()
        self.moves.close()

    def write(self, score: int) -> None:
        """Write the policy."""
        fresh = self.policy / ".fresh"
        fresh.write_text(LINES + RULE.format(score))
        fresh.replace(self.policy / "1.toml")

    def word(self, number: int, kind: LabelKind = LabelKind.SPAM, *, back: int = 0) -> int:
        """Have a word counted, or one taken back; return its id."""
        now = time.time()
        with LabelStore(self.state / state_files.FEEDBACK) as store:
            if back:
                store.take_back([back], reason="", by="", now=now)
                ident = back
            else:
                source = LabelSource.COMPLAINT if kind is LabelKind.SPAM else LabelSource.PARDON
                said = Label(
                    kind=kind,
                    source=source,
                    time=now,
                    digest=bytes([number]),
                    features=b"",
                    pieces=(TEXT,),
                )
                (heard,) = store.add([said], now=now)
                ident = heard.id
        with FeedbackConnection(self.state / state_files.FEEDBACK) as connection:
            ledger = LabelOutbox(connection)
            ledger.end(ledger.begin(100, now), now)
        return ident


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.end()


def causes(found: list[RecheckTrigger]) -> list[RecheckCause]:
    return [one.cause for one in found]


def test_the_first_look_has_no_news(site: Site) -> None:
    site.word(1)
    assert site.changes.look() == []
    assert site.in_force.current is not None


def test_words_that_are_counted_and_taken_back_are_news_once(site: Site) -> None:
    site.word(1)
    site.changes.look()
    ident = site.word(2)
    site.word(3, LabelKind.HAM)
    (against, pardon) = site.changes.look()
    assert (against.cause, against.pieces, against.echo) == (RecheckCause.WORD, (TEXT,), True)
    assert pardon.cause is RecheckCause.PARDON
    assert site.changes.look() == []
    site.word(2, back=ident)
    assert causes(site.changes.look()) == [RecheckCause.PARDON]


def test_who_was_killed_comes_to_the_last_words_again(site: Site) -> None:
    site.word(1)
    site.changes.look()
    site.word(2)
    site.changes.look()
    site.end()
    site.begin()
    assert set(causes(site.changes.look())) == {RecheckCause.WORD}
    assert site.changes.look() == []


def test_another_policy_is_news_and_a_broken_one_leaves_the_old(site: Site) -> None:
    site.changes.look()
    site.write(60)
    assert causes(site.changes.look()) == [RecheckCause.POLICY]
    before = site.in_force.current
    (site.policy / "1.toml").write_text("nonsense")
    site.changes.look()
    assert site.in_force.current is before
    site.write(70)
    assert causes(site.changes.look()) == [RecheckCause.POLICY]


def test_a_policy_that_means_the_same_is_no_news(site: Site) -> None:
    site.changes.look()
    path = site.policy / "1.toml"
    text = path.read_text()
    path.write_text("# a comment\n" + text)
    assert site.changes.look() == []
    path.write_text(text.replace("score = 50", "score   =   50.0   # as before"))
    (site.policy / "90-local.toml").write_text('[[rule]]\nname = "RULE"\nscore = 50\n')
    assert site.changes.look() == []
    site.end()
    site.begin()
    assert site.changes.look() == []


def test_a_policy_that_changed_while_nobody_looked_is_news(site: Site) -> None:
    site.changes.look()
    site.end()
    site.write(80)
    site.begin()
    assert causes(site.changes.look()) == [RecheckCause.POLICY]


def test_a_site_without_a_policy_says_so(site: Site) -> None:
    (site.policy / "1.toml").write_text("nonsense")
    assert site.changes.look() == []
    assert "the policy can't be loaded" in str(site.changes.failed)


@pytest.mark.parametrize("broken", [state_files.SIGNATURES, state_files.PINS])
def test_a_store_that_can_not_be_read_hides_no_words(site: Site, broken: str) -> None:
    """Invariant: a word is told exactly once, whatever is wrong with the stores beside its own."""
    site.word(1)
    site.changes.look()
    (site.state / broken).write_bytes(b"this is no database" * 100)
    for number in (2, 3):
        site.word(number)
        assert causes(site.changes.look()) == [RecheckCause.WORD]
        assert isinstance(site.changes.failed, StoreError)
    (site.state / broken).unlink()
    assert site.changes.look() == []
    assert site.changes.failed is None


def test_a_policy_whose_news_could_not_be_written_down_is_told_later(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.changes.look()
    site.write(80)

    def full(*_: object) -> None:
        raise StoreFull("no room left")

    with monkeypatch.context() as context:
        context.setattr(site.moves, "set_cursor", full)
        assert site.changes.look() == []
        assert isinstance(site.changes.failed, StoreFull)
    assert causes(site.changes.look()) == [RecheckCause.POLICY]
    assert site.changes.look() == []


def test_new_and_removed_signatures_are_news_by_their_entities(site: Site) -> None:
    with SignatureStore(site.state / state_files.SIGNATURES) as store:
        site.changes.look()
        found = Signature(
            id="",
            flag=SignatureFlag.SPAM,
            kind=SignatureKind.DOMAIN,
            value="pills.example",
            author="ann",
            created=time.time(),
        )
        phrase = Signature(
            id="",
            flag=SignatureFlag.SPAM,
            kind=SignatureKind.PHRASE,
            value="cheap little pills",
            author="ann",
        )
        ((ident, _), _) = store.add([found, phrase], now=time.time())
        (change,) = site.changes.look()
        assert (change.cause, change.pieces) == (
            RecheckCause.SIGNATURE, (HASHER.shingle(ShingleType.FROM_DOMAIN, "pills.example"), HASHER.shingle(ShingleType.LINK_DOMAIN, "pills.example")),
        )  # fmt: skip
        assert site.changes.look() == []
        site.changes.look()
        site.end()
        site.begin()  # it knows of the signature only by the store
        store.decide(ident, SignatureState.REMOVED, by="ann", now=time.time())
        assert causes(site.changes.look()) == [RecheckCause.SIGNATURE]
