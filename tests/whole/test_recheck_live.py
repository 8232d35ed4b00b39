"""Real Postfix, real Dovecot: a campaign that is delivered, and taken back when some of its readers
complain.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from oborona import state_files
from oborona.feedback.events.log import EventLog
from tests.peers.postfix import available
from tests.whole.after import After
from tests.whole.gate import eventually

USERS = [f"reader{number}" for number in range(24)]
CAMPAIGN_USERS, LATER = USERS[:20], USERS[20:]
COMPLAIN = CAMPAIGN_USERS[:10]
OPENED = CAMPAIGN_USERS[10:13]
UNREAD = CAMPAIGN_USERS[13:]
TRAPS = ["old-shop", "old-office", "old-desk"]
OTHER = (
    "Good evening, the treasure of a minister who died in an accident waits in a bank for "
    "somebody who bears his name, and our office asks you"
    " to be that person, for a third of the sum, if you tell us where you live and how you can be "
    "reached by telephone tonight."
)
WITHIN_S = 60.0

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix and root")


@pytest.fixture(scope="module")
def site() -> Iterator[After]:
    with After(
        USERS, policy=f"[traps]\naddresses = {[f'{trap}@example.test' for trap in TRAPS]}\n"
    ) as running:
        yield running


@pytest.fixture(scope="module")
def taken_back(site: After) -> After:
    """The campaign is delivered, three open it, ten complain, and the unread copies are gone."""
    assert all(reply.startswith("250 ") for reply in site.campaign(CAMPAIGN_USERS))
    eventually(lambda: all(site.inbox(user) == 1 for user in CAMPAIGN_USERS), WITHIN_S)
    for user in OPENED:
        site.read(user)
    for user in COMPLAIN:
        site.drag(user, "INBOX", "Junk")
    eventually(
        lambda: all((site.inbox(user), site.junk(user)) == (0, 1) for user in UNREAD), WITHIN_S
    )
    return site


def test_the_unread_copies_go_and_the_read_ones_stay(taken_back: After) -> None:
    assert [(taken_back.inbox(user), taken_back.junk(user)) for user in UNREAD] == [(0, 1)] * len(
        UNREAD
    )
    assert [(taken_back.inbox(user), taken_back.junk(user)) for user in OPENED] == [(1, 0)] * len(
        OPENED
    )
    assert [taken_back.junk(user) for user in COMPLAIN] == [1] * len(COMPLAIN)


def test_each_move_is_logged_and_listed(taken_back: After) -> None:
    eventually(lambda: len(taken_back.events("moved")) >= len(UNREAD), WITHIN_S)
    moved = {one["recipient"] for one in taken_back.events("moved")}
    assert {f"{user}@example.test" for user in UNREAD} <= moved
    assert moved.isdisjoint(f"{user}@example.test" for user in OPENED)
    (one, *_) = taken_back.events("moved")
    assert (one["source"], one["target"]) == ("INBOX", "Junk")
    assert one["why"].startswith("MASS_COMPLAINED")
    said = taken_back.oborona.run("recheck", "moves", one["id"], "--json")
    (move,) = [json.loads(line) for line in said.stdout.splitlines()]
    assert (move["state"], move["message"]) == ("done", one["id"])


def test_the_next_copy_is_filed_or_refused(taken_back: After) -> None:
    user = LATER[0]
    (reply,) = taken_back.campaign([user])
    if reply.startswith("250 "):
        eventually(lambda: taken_back.junk(user) == 1, WITHIN_S)
    else:
        assert reply.startswith("550 5.7.1 "), reply
    assert taken_back.inbox(user) == 0


def test_who_moves_it_back_keeps_it(taken_back: After) -> None:
    user = UNREAD[0]
    taken_back.drag(user, "Junk", "INBOX")
    said = taken_back.oborona.run("recheck", "--dry-run", f"{user}@example.test", "--json")
    assert said.returncode == 0, said.stderr
    assert [json.loads(line)["target"] for line in said.stdout.splitlines()] in ([], [""])
    number = len(taken_back.events("moved"))
    for other in OPENED[:1]:  # one more complaint: everything is looked at again
        taken_back.drag(other, "INBOX", "Junk")
    eventually(lambda: _decided(taken_back) >= len(COMPLAIN) + 2, WITHIN_S)
    assert taken_back.inbox(user) == 1
    assert len(taken_back.events("moved")) == number


def test_moves_are_taken_back(taken_back: After) -> None:
    users = UNREAD[1:]
    said = taken_back.oborona.run("recheck", "undo", "--since", "1h")
    assert said.returncode == 0, said.stderr
    eventually(
        lambda: all((taken_back.inbox(user), taken_back.junk(user)) == (1, 0) for user in users),
        WITHIN_S,
    )


def test_what_came_to_traps_is_taken_back_from_people(site: After) -> None:
    """Three copies of another campaign come to traps, which nobody reads.

    People's copies, from the same networks, follow.
    """
    users = LATER[1:]
    assert all(reply.startswith("250 ") for reply in site.campaign(users, text=OTHER, network=90))
    eventually(lambda: all(site.inbox(user) == 1 for user in users), WITHIN_S)
    assert all(reply.startswith("250 ") for reply in site.campaign(TRAPS, text=OTHER, network=90))
    eventually(
        lambda: all((site.inbox(user), site.junk(user)) == (0, 1) for user in users), WITHIN_S
    )

    def why() -> list[str]:
        recipient = f"{users[0]}@example.test"
        return [one["why"] for one in site.events("moved") if one["recipient"] == recipient]

    eventually(lambda: bool(why()), WITHIN_S)  # the log is told behind the move
    assert "TRAPPED" in why()[-1]


def _decided(site: After) -> int:
    """Return how many events were decided."""
    with EventLog(site.oborona.state / state_files.EVENTS, make=False) as log:
        return sum(one.decided is not None for one in log.last(1000))
