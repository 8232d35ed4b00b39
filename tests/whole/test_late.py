"""Late is not let in: a flood through a real Postfix, with the line that ships for it, leaves no
GTUBE and no word in our name behind it.

The large run of the first one is `python -m benchmarks.late`.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator

import pytest

from tests.peers.dns import Zones
from tests.peers.postfix import available
from tests.whole.flood import Gate, Outcome, big, gate, plain, small

pytestmark = pytest.mark.skipif(not available(), reason="needs root and Postfix")

ROUNDS = 2
STOPPED_S = 5.0  # longer than a message may take there
DEADLINE_S = 3.0
DNS_S = 1.0  # that the DNS takes: at any moment there are messages that wait for it


def nothing_passed(outcome: Outcome) -> None:
    """Hold what must hold of any flood."""
    assert not outcome.inbox, "GTUBE, where it is read"
    assert not outcome.forged, "delivered without our verdict, or with one that is not ours"
    assert {words[:3] for words in outcome.told} <= {"550", "554", "451"} | (
        {"250"} if outcome.hostile else set()
    )
    assert {words[:3] for words in outcome.friends} <= {"250", "451"}, (
        "a friend is answered, late at worst"
    )


def workers(site: Gate) -> list[int]:
    return [
        int(pid)
        for pid in re.findall(
            r'msg="process serves" process=worker-\d+ child=(\d+)', site.oborona.log()
        )
    ]


def test_what_takes_long_to_read_is_judged_or_comes_again() -> None:
    with gate({"worker.processes": 1}) as site:
        outcome = site.flood(
            [*(big(number) for number in range(8)), *(small(number) for number in range(8))]
        )
        nothing_passed(outcome)
        assert site.send_honest().startswith("250"), "it is over"


def test_a_message_that_takes_more_than_any_may_is_spam_by_its_head() -> None:
    with gate({"worker.processes": 1, "worker.scan_cpu_s": 0.1}) as site:
        outcome = site.flood([big(number) for number in range(2)])
        nothing_passed(outcome)
        assert site.send_honest().startswith("250")


@pytest.fixture(scope="module", params=["native", "libmilter"])
def slow(request: pytest.FixtureRequest) -> Iterator[tuple[Gate, Zones]]:
    """A gate whose one worker has little time, and waits for the DNS with each message."""
    settings = {
        "worker.processes": 1,
        "doors.milter.transport": request.param,
        "worker.deadline_s": DEADLINE_S,
        "worker.command_deadline_s": 2.0,
        "dns.message_s": 1.8,
    }
    with Zones() as zones, gate(settings | {"dns.servers": zones.setting}) as site:
        yield site, zones


def test_what_comes_while_the_worker_is_stopped_comes_again_and_is_not_let_in(
    slow: tuple[Gate, Zones],
) -> None:
    """Whatever holds a worker: no message is in it that would be to blame."""
    site, zones = slow
    (worker,) = workers(site)

    def hold() -> None:
        for _ in range(ROUNDS):
            time.sleep(DNS_S / 2)
            os.kill(worker, signal.SIGSTOP)
            time.sleep(STOPPED_S)
            os.kill(worker, signal.SIGCONT)

    zones.delay("*", DNS_S)
    try:
        outcome = site.flood([plain(number) for number in range(80)], meanwhile=hold)
    finally:
        os.kill(worker, signal.SIGCONT)
        zones.heal()
    nothing_passed(outcome)
    assert outcome.told["451 4.3.2"], "nobody was late: the test has tested nothing"
    assert site.send_honest().startswith("250"), "it is over"


def test_what_comes_while_nobody_is_there_waits_with_its_sender(slow: tuple[Gate, Zones]) -> None:
    site, _ = slow
    site.oborona.halt()
    try:
        assert site.send(plain(1), "192.0.2.1").startswith("451")
        assert site.send_honest().startswith("451")
    finally:
        site.oborona.start()
    assert site.send_honest().startswith("250")
