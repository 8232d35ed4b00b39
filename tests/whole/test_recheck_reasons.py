"""Real Postfix, real Dovecot: what was filed comes back to the inbox for what was learned, by name,
and for nothing else.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.peers.dns import Zones
from tests.peers.postfix import available
from tests.whole.after import DOMAIN, After
from tests.whole.gate import eventually

PILLS, BOSS, OTHER, ODD = "ann", "bob", "eve", "joe"
WITHIN_S = 60.0
QUIET_S = 6.0  # in which a look at everything is over
CLIENT = "9.44.5.6"
SENDER = "office77@mail.example"  # its SPF passes
RULE = '[[rule]]\nname = "ODDLY_NAMED"\nwhen = "from.name == \'somebody odd\'"\nscore = 130\n'
PILLS_TEXT = (
    "Canadian pharmacy: cheap viagra, cialis and levitra without prescription, free worldwide "
    "shipping, best prices on all pills, order now and save 70 %."
    " Our online pharmacy sends generic viagra to your door, no doctor needed: "
    "http://pills-shop.top/order"
)
BOSS_TEXT = (
    "Are you available right now? I am in a meeting and cannot take calls. I need you to purchase "
    "some gift cards for a client, it is urgent and confidential."
    " Scratch off the back and send me pictures of the codes. I will reimburse you before the end "
    "of the day. Reply as soon as you get this."
)
LETTER = (
    "Good morning, the minutes of the meeting are with the porter, and the cake of Tuesday "
    "was for all of you."
)
_numbers = itertools.count(1)

pytestmark = pytest.mark.skipif(not available(), reason="needs Postfix and root")


class Site(After):
    """The site, with mail that SPF proves."""

    def get(
        self, user: str, text: str, *, subject: str, name: str = "Peter Boss", more: str = ""
    ) -> str:
        number = next(_numbers)
        raw = (
            f"From: {name} <{SENDER}>\r\nTo: {user}@{DOMAIN}\r\nSubject: {subject}\r\nMessage-ID: "
            f"<{number}@mail.example>\r\n"
            f"Date: {time.strftime('%a, %d %b %Y %H:%M:%S +0000', time.gmtime())}\r\n{more}\r\n{text}\r\n"
        )
        return self.postfix.send(
            raw.encode(),
            sender=SENDER,
            recipients=[f"{user}@{DOMAIN}"],
            xclient={"ADDR": CLIENT, "NAME": "[UNAVAILABLE]"},
            helo="mail.example",
        )[-1]

    def set_policy(self, text: str) -> None:
        (self.dovecot.root / "policy.d" / "90-local.toml").write_text(text)
        said = self.oborona.run("policy", "reload")
        assert said.returncode == 0, said.stderr

    def moved(self, user: str) -> list[dict[str, Any]]:
        return [one for one in self.events("moved") if one["recipient"] == f"{user}@{DOMAIN}"]

    def verdicts(self) -> list[dict[str, Any]]:
        return self.events("verdict")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Zones() as dns:
        dns.add({"mail.example": {"TXT": [f"v=spf1 ip4:{CLIENT} -all"]}})
        with Site([PILLS, BOSS, OTHER, ODD], {"dns.servers": dns.setting}, policy=RULE) as running:
            yield running


@pytest.fixture(scope="module")
def filed(site: Site) -> Site:
    """Pills and a boss's hurry, each twice, a minute's flood: all four are in Junk, and nobody has
    opened one.
    """
    for _ in range(2):
        assert site.get(PILLS, PILLS_TEXT, subject="70 % off ALL PILLS!!").startswith("250 ")
        assert site.get(
            BOSS, BOSS_TEXT, subject="URGENT REQUEST!!", more="Reply-To: ceo.desk77@yandex.com\r\n"
        ).startswith("250 ")
    eventually(lambda: (site.junk(PILLS), site.junk(BOSS)) == (2, 2), WITHIN_S)
    eventually(lambda: len(site.verdicts()) == 4, WITHIN_S)
    scores = [one["score"] for one in site.verdicts()]
    assert scores[2] >= scores[0], "the second of the pills is no better than the first"
    assert scores[3] >= scores[1], "nor is that of the boss"
    return site


def stay(site: Site) -> None:
    """Wait for what the second look may do, and see that it did nothing."""
    time.sleep(QUIET_S)
    assert (site.junk(PILLS), site.junk(BOSS)) == (2, 2)
    assert site.moved(PILLS) == site.moved(BOSS) == []


def test_a_comment_in_a_policy_file_moves_nothing(filed: Site) -> None:
    filed.set_policy(f"# a comment\n{RULE}")
    stay(filed)


def test_another_rule_that_has_nothing_to_do_with_it_moves_nothing(filed: Site) -> None:
    filed.set_policy(f'{RULE}\n[[rule]]\nname = "NEVER"\nwhen = "recipients > 90"\nscore = 5\n')
    stay(filed)


def test_good_mail_of_the_same_sender_and_an_unrelated_complaint_move_nothing(filed: Site) -> None:
    for _ in range(4):
        assert filed.get(OTHER, f"{LETTER} {next(_numbers)}", subject="minutes").startswith("250 ")
    eventually(lambda: filed.inbox(OTHER) == 4, WITHIN_S)
    filed.drag(OTHER, "INBOX", "Junk")
    stay(filed)


def test_a_rule_that_is_removed_brings_back_what_it_filed_and_is_named(filed: Site) -> None:
    assert filed.get(
        ODD, "The plans of the garden are ready.", subject="plans", name="Somebody Odd"
    ).startswith("250 ")
    eventually(lambda: filed.junk(ODD) == 1, WITHIN_S)
    filed.set_policy("# nothing of ours\n")
    eventually(lambda: bool(filed.moved(ODD)), WITHIN_S)
    (move,) = filed.moved(ODD)
    assert (move["source"], move["target"], move["because"]) == (
        "Junk",
        "INBOX",
        "rule ODDLY_NAMED removed",
    )
    assert (filed.junk(PILLS), filed.junk(BOSS)) == (2, 2)
    told = filed.oborona.run("explain", move["id"])
    assert "because: rule ODDLY_NAMED removed" in told.stdout
    listed = filed.oborona.run("recheck", "moves", move["id"], "--json")
    assert '"because":"rule ODDLY_NAMED removed"' in listed.stdout.replace(": ", ":")


def test_an_entry_in_a_list_brings_back_and_is_named(filed: Site) -> None:
    filed.set_policy(
        f'[[local_list]]\nname = "PARTNERS"\naction = "allow"\nof = ["client"]\nentries = '
        f'["{CLIENT}"]\n'
    )
    eventually(lambda: (filed.inbox(PILLS), filed.inbox(BOSS)) == (2, 2), WITHIN_S)
    eventually(lambda: len(filed.moved(PILLS)) == len(filed.moved(BOSS)) == 2, WITHIN_S)
    assert {one["because"] for one in filed.moved(PILLS) + filed.moved(BOSS)} == {
        f"list PARTNERS: allow {CLIENT}"
    }
