"""What of a queue is held and let go, whatever was done to it between, and wherever a run ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from oborona.accounts.queue_holds import AccountMail, QueueHold, plan_holds

SINCE = 1_800_000_000.0
STEPS = 7  # of a run


def mail(ident: str, account: str = "", *, held: bool = False, since: float = SINCE) -> AccountMail:
    return AccountMail(queue_id=ident, since=since, held=held, account=account)


def noted(ident: str, account: str, *, seen: bool = True, since: float = SINCE) -> QueueHold:
    return QueueHold(queue_id=ident, since=since, account=account, seen=seen)


def test_what_a_banned_account_has_waiting_is_held_and_nothing_else() -> None:
    queue = [mail("A", "joe"), mail("B", "joe", held=True), mail("C", "ann"), mail("D")]
    plan = plan_holds(queue, {"joe"}, [])
    assert [hold.queue_id for hold in plan.hold] == ["A"]
    assert (plan.release, plan.forget) == ((), ())


def test_what_was_held_so_is_let_go_and_nothing_else() -> None:
    queue = [mail("A", held=True), mail("B", held=True), mail("C", held=True)]
    plan = plan_holds(queue, {"ann"}, [noted("A", "joe"), noted("C", "ann")])
    assert (plan.hold, plan.forget) == ((), ())
    assert [hold.queue_id for hold in plan.release] == ["A"]


def test_what_a_person_let_go_is_not_held_again() -> None:
    assert plan_holds([mail("A", "joe")], {"joe"}, [noted("A", "joe")]).hold == ()


def test_a_run_that_was_killed_before_the_mail_server_did_it_is_gone_on_with() -> None:
    before = noted("A", "joe", seen=False)
    assert plan_holds([mail("A", "joe")], {"joe"}, [before]).hold == (before,)
    assert plan_holds([mail("A", "joe", held=True)], set(), [before]).release == (before,)


def test_a_ban_after_a_release_that_was_not_noted_holds_it_again() -> None:
    (noted_before_it,) = plan_holds([mail("A", held=True)], set(), [noted("A", "joe")]).release
    (hold,) = plan_holds([mail("A", "joe")], {"joe"}, [noted_before_it]).hold
    assert hold.queue_id == "A"


def test_an_id_that_is_used_again_is_another_message() -> None:
    old = noted("A", "joe", since=SINCE - 86_400)
    assert plan_holds([mail("A", held=True)], set(), [old]).release == ()
    assert plan_holds([mail("A", held=True)], set(), [old]).forget == ("A",)
    (hold,) = plan_holds([mail("A", "ann")], {"ann"}, [old]).hold
    assert (hold.account, hold.since) == ("ann", SINCE)


@dataclass
class MailServer:
    """A queue, what is written of it, and who was held before."""

    accounts: dict[str, str]
    held: set[str]
    notes: dict[str, QueueHold] = field(default_factory=dict)

    def run(self, banned: set[str], killed_after: int) -> None:
        """One run, of which so many steps are done."""
        queue = [
            mail(ident, self.accounts[ident] * (self.accounts[ident] in banned), held=ident in self.held)
            for ident in sorted(self.accounts)
        ]  # fmt: skip
        plan = plan_holds(queue, banned, list(self.notes.values()))
        steps: Sequence[object] = (
            lambda: self.notes.update({hold.queue_id: hold for hold in plan.hold}),
            lambda: self.held.update(hold.queue_id for hold in plan.hold),
            lambda: self.notes.update(
                {one.queue_id: msgspec.structs.replace(one, seen=True) for one in plan.hold}
            ),
            lambda: self.notes.update({hold.queue_id: hold for hold in plan.release}),
            lambda: self.held.difference_update(hold.queue_id for hold in plan.release),
            lambda: [self.notes.pop(hold.queue_id) for hold in plan.release],
            lambda: [self.notes.pop(one) for one in plan.forget],
        )
        for step in steps[:killed_after]:
            assert callable(step)
            step()


ACCOUNTS = ("joe", "ann", "eve")
BANS = st.lists(st.tuples(st.sets(st.sampled_from(ACCOUNTS)), st.integers(0, STEPS)), max_size=12)


@settings(max_examples=1000, deadline=None)
@given(
    accounts=st.dictionaries(st.sampled_from("ABCDEFGH"), st.sampled_from(ACCOUNTS)),
    held=st.sets(st.sampled_from("ABCDEFGH")),
    runs=BANS,
    last=st.sets(st.sampled_from(ACCOUNTS)),
)
def test_wherever_runs_end_the_next_whole_one_makes_it_right(
    accounts: dict[str, str], held: set[str], runs: list[tuple[set[str], int]], last: set[str]
) -> None:
    """Held in the end: what was held by others, and what is of banned accounts."""
    before = held & accounts.keys()
    server = MailServer(accounts, set(before))
    for banned, steps in runs:
        server.run(banned, steps)
    server.run(last, STEPS)
    assert server.held == before | {one for one, account in accounts.items() if account in last}
    server.run(set(), STEPS)
    assert (server.held, server.notes) == (before, {})
