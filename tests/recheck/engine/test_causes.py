"""Why a message is looked at again: the clock, what was found late, signatures, pins, another
policy; and lists of its readers, which stay their own.
"""

from __future__ import annotations

from pathlib import Path

from oborona.errors import StoreError
from oborona.ident import first_id_at
from oborona.journal.entry import LateFindings
from oborona.message.hashing import Hasher, ShingleType
from oborona.metrics import REGISTRY
from oborona.policy.signatures import Signature
from oborona.policy.signatures.model import SignatureFlag, SignatureKind
from oborona.recheck.engine.clock import LATE_S, RecheckClock
from oborona.recheck.engine.loop import MESSAGES
from oborona.recheck.engine.model import RecheckCause
from oborona.recheck.engine.signature_changes import SignatureChanges, shingles_of
from oborona.recheck.moves import MoveState
from oborona.reputation.flag import ReputationFlag as PinFlag
from oborona.reputation.personal import EntryAction, PersonalEntrySource, PersonalProfile, entry
from oborona.reputation.personal import PersonalEntryKind as EntryKind
from oborona.reputation.pins import Pin, PinTable
from oborona.types import Action, Finding
from tests.recheck.engine.scene import (
    CAMPAIGN,
    COMPLAINED,
    NOW,
    another,
    letter,
    replaced,
    scene,
    shingle,
    written,
)

MANY = '[[rule]]\nname = "MANY"\nwhen = "mass.day >= 10"\nscore = 120\n'
SIGNED = (
    '[[rule]]\nname = "SIGNED"\nwhen = "len(signatures.spam) > 0"\nscore = 150\nsay = '
    '"{signatures.spam_why}"\n'
)
LINKED = " Look at https://www.pills.example/buy?x=1 at once."


class Lists:
    """What one person has said."""

    def __init__(
        self, address: str, *entries: tuple[EntryAction, EntryKind, str], strictness: float = 1.0
    ) -> None:
        made = tuple(
            entry(side, kind, value, time=NOW, source=PersonalEntrySource.COMMAND)
            for side, kind, value in entries
        )
        self._person = PersonalProfile(address, strictness, made)

    async def of(self, address: str) -> PersonalProfile:
        return self._person if address == self._person.address else PersonalProfile("", 1.0, ())


async def test_by_the_clock_the_first_of_a_campaign_is_found(tmp_path: Path) -> None:
    async with scene(tmp_path, MANY, looks_s=(60.0, 300.0)) as made:
        first = await made.deliver(letter(0, CAMPAIGN))
        assert first.verdict is Action.ACCEPT
        for one in range(12):
            made.now += 1
            await made.deliver(letter(1 + one, CAMPAIGN))
        await made.look()
        assert made.made(first) == [], "its time has not come"
        made.now += 60
        await made.look()
        (move,) = made.made(first)
        assert (move.target, move.event) == ("Junk", "clock")


async def test_what_has_hardly_moved_ends_with_the_glance(tmp_path: Path) -> None:
    async with scene(tmp_path, MANY, looks_s=(60.0,)) as made:
        for one in range(3):
            await made.deliver(
                letter(one, another(one), sender=f"a{one}@c{one}.example"), ip=f"203.0.{one}.9"
            )
        made.now += 61
        await made.look()
        assert (MESSAGES.value("glanced"), MESSAGES.value("judged")) == (3, 0)


async def test_a_restart_goes_on_where_the_clock_was(tmp_path: Path) -> None:
    async with scene(tmp_path, MANY, looks_s=(60.0,)) as made:
        await made.deliver(letter(0, another(0)))
        made.now += 61
        await made.look()
        assert MESSAGES.value("glanced") == 1
        made.engine._saved_at = float("-inf")
        await made.engine.step()
        await made.end()
        REGISTRY.begin()
        await made.begin()
        await made.look()
        assert MESSAGES.value("glanced") == 0


def test_what_is_late_by_too_much_is_given_up() -> None:
    """Invariant: whatever was looked at before, no look lags behind by more than LATE_S."""
    clock = RecheckClock((60.0,), {"clock-60": first_id_at(NOW - 90_000)}, NOW)
    due = clock.due(NOW)
    assert due is not None
    assert due.after == first_id_at(NOW - 60 - LATE_S)
    clock.came(due, None)
    assert clock.due(NOW) is None
    fresh = RecheckClock((60.0,), {}, NOW)
    assert fresh.due(NOW) is None, (
        "what was delivered before there was a second look is not looked at"
    )


async def test_what_was_found_late_moves_a_message(tmp_path: Path) -> None:
    rule = '[[rule]]\nname = "SEEN"\nwhen = "found(\'executable-attachment\')"\nscore = 130\n'
    async with scene(tmp_path, rule) as made:
        one = await made.deliver(letter(1, CAMPAIGN))
        finding = Finding("executable-attachment", "a program")
        facts: dict[str, object] = {"findings": [*one.facts["findings"], finding.name]}  # type: ignore[misc]
        made.later(
            LateFindings(
                id=one.id,
                time=made.now,
                before=one.verdict,
                score_before=one.score,
                verdict=Action.SPAM,
                score=130.0,
                line=100.0,
                decided_by="SEEN",
                findings=(finding,),
                facts=facts,
            )
        )
        await made.look()
        (move,) = made.made(one)
        assert (move.event, move.why) == ("late", "SEEN")


async def test_a_new_signature_on_a_link_moves_what_has_it(tmp_path: Path) -> None:
    async with scene(tmp_path, SIGNED) as made:
        one = await made.deliver(letter(1, CAMPAIGN + LINKED))
        other = await made.deliver(
            letter(2, CAMPAIGN + " Look at https://www.bread.example/ at once.")
        )
        found = Signature(
            id="s1",
            flag=SignatureFlag.SPAM,
            kind=SignatureKind.DOMAIN,
            value="pills.example",
            author="ann",
        )
        made.signed = SignatureChanges({"s1": found}, made.hasher)
        made.engine.add(RecheckCause.SIGNATURE, shingles_of(found, made.hasher))
        await made.look()
        (move,) = made.made(one)
        assert move.why.startswith("SIGNED s1 ")
        assert made.made(other) == []


async def test_a_signature_that_is_gone_brings_back_what_it_filed(tmp_path: Path) -> None:
    async with scene(tmp_path, SIGNED) as made:
        one = await made.deliver(
            letter(1, CAMPAIGN + LINKED),
            change=lambda one: replaced(
                one,
                verdict=Action.SPAM,
                score=150.0,
                decided_by="SIGNED",
                facts=one.facts | {"signatures_spam": ["s1"], "signatures_spam_why": "s1"},
            ),
        )
        made.signed = SignatureChanges({}, made.hasher, {"s1"})
        made.engine.add(RecheckCause.SIGNATURE, [shingle(one, ShingleType.LINK_DOMAIN)])
        await made.look()
        (move,) = made.made(one)
        assert (move.source, move.target) == ("Junk", "INBOX")


def test_a_phrase_is_found_by_no_shingle() -> None:
    phrase = Signature(
        id="s1", flag=SignatureFlag.SPAM, kind=SignatureKind.PHRASE, value="cheap little pills"
    )
    assert shingles_of(phrase, Hasher(b"k" * 32)) == ()


async def test_a_pin_moves_what_comes_from_whom_it_says(tmp_path: Path) -> None:
    rule = '[[rule]]\nname = "BAD"\nwhen = "repentity.flag == \'bad\'"\nscore = 120\n'
    async with scene(tmp_path, rule) as made:
        one = await made.deliver(letter(1, CAMPAIGN + LINKED))
        domain = shingle(one, ShingleType.LINK_DOMAIN)
        made.pins = PinTable(
            [Pin(domain.type, domain.hash, "pills.example", PinFlag.BAD, "sells pills", "ann", NOW)]
        )
        made.engine.add(RecheckCause.PIN, [domain])
        await made.look()
        assert [move.event for move in made.made(one)] == ["pin"]


async def test_another_policy_is_held_against_all_of_the_window(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        found = [await made.deliver(letter(one, another(one))) for one in range(70)]
        made.policy = written(
            tmp_path / "new", '[[rule]]\nname = "ALL"\nwhen = "recipients > 0"\nscore = 100\n'
        )
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        assert all(made.made(one)[0].event == "policy" for one in found)


async def test_a_rule_that_needs_the_text_moves_nothing_because_it_can_not_be_judged(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        one = await made.deliver(letter(1, CAMPAIGN))
        made.policy = written(
            tmp_path / "new",
            '[[rule]]\nname = "TEXT"\nwhen = "contains(text, \'mountains\')"\nscore = -50\n',
            '[[rule]]\nname = "ALL"\nwhen = "recipients > 0"\nscore = 120\n',
        )
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        assert made.made(one) == [], "it could be 70"


async def test_who_allows_its_sender_keeps_it(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        one = await made.deliver(
            letter(1, CAMPAIGN),
            recipients=("bob@b.example", "eve@b.example"),
            change=lambda one: replaced(
                one, facts=one.facts | {"author": "ann@a.example", "author_domain": "a.example"}
            ),
        )
        made.persons = Lists(
            "bob@b.example", (EntryAction.ALLOW, EntryKind.ADDRESS, "ann@a.example")
        )
        made.say(one, 3)
        await made.look()
        assert [move.recipient for move in made.made(one)] == ["eve@b.example"]
        (found,) = made.decided
        assert [(stay.recipient, stay.why) for stay in found.stays] == [
            ("bob@b.example", "its recipient's list decides")
        ]


async def test_a_list_that_a_reader_has_made_since_moves_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        one = await made.deliver(letter(1, CAMPAIGN))
        made.persons = Lists(
            "bob@b.example", (EntryAction.DENY, EntryKind.ADDRESS, "ann@a.example")
        )
        made.say(one, 1)
        await made.look()
        assert made.made(one) == []


async def test_counters_that_are_away_pass_nothing_over(tmp_path: Path) -> None:
    class Away:
        async def read(self, *_: object) -> object:
            raise StoreError("the counters are away")

        timelines = read

    async with scene(tmp_path, COMPLAINED) as made:
        one = await made.deliver(letter(1, CAMPAIGN))
        made.say(one, 3)
        counters, made.counters = made.counters, Away()  # type: ignore[assignment]
        raised = 0
        try:
            await made.look()
        except StoreError:
            raised = 1
        assert raised
        assert made.made(one) == []
        made.counters = counters
        await made.look()
        assert len(made.made(one)) == 1


async def test_one_message_with_a_fault_is_not_the_next_ones(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        bad = await made.deliver(letter(1, CAMPAIGN))
        good = await made.deliver(letter(2, CAMPAIGN))
        touched = made.people.touched

        def broken(ident: int) -> object:
            if ident == bad.id:
                raise RuntimeError("a fault of ours")
            return touched(ident)

        made.people.touched = broken  # type: ignore[assignment, method-assign]
        made.say(good, 3)
        await made.look()
        assert (len(made.made(good)), len(made.made(bad))) == (1, 0)
        assert MESSAGES.value("failed") >= 1


async def test_nothing_of_it_is_counted(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        one = await made.deliver(letter(1, CAMPAIGN))
        made.say(one, 3)
        before = await made.counters.read(one.shingles, made.now)
        await made.look()
        await made.move()
        assert made.made(one)[0].state is MoveState.DONE
        assert await made.counters.read(one.shingles, made.now) == before


async def test_a_message_without_counts_or_facts_is_told_as_unjudged(tmp_path: Path) -> None:
    async with scene(tmp_path, COMPLAINED) as made:
        one = await made.deliver(letter(1, CAMPAIGN), change=lambda one: replaced(one, kept=None))
        made.engine.add(RecheckCause.POLICY)
        await made.look()
        assert (MESSAGES.value("unjudged"), made.made(one)) == (1, [])
