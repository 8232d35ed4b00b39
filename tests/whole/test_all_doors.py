"""Golden mails get the same verdict and score by whatever door they come, each asked by the clients
of that door: real ones, where there are any.

tests/golden/mails tells what must come of each. The daemon of each courier begins with an empty
store: what came by one door is counted, as it should be, and the same mail is another matter by the
next.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tests.peers import exim, postfix
from tests.peers.dns import Zones
from tests.peers.oborona import Oborona
from tests.whole import couriers
from tests.whole.couriers import Bring, House
from tests.whole.golden import each_mail, want


class Way(NamedTuple):
    """How a mail comes."""

    courier: Callable[[House], AbstractContextManager[Bring]]
    settings: Mapping[str, object] = MappingProxyType({})
    needs: bool = True


WAYS = {
    "milter": Way(couriers.milter),
    "Postfix, milter": Way(couriers.postfix, needs=postfix.available()),
    "Postfix, libmilter": Way(
        couriers.postfix, {"doors.milter.transport": "libmilter"}, needs=postfix.available()
    ),
    "Exim, a line": Way(couriers.exim_line),
    "Exim, variant=rspamd": Way(couriers.exim_rspamd, needs=exim.available()),
    "Exim, SpamAssassin": Way(couriers.exim_spamassassin, needs=exim.available()),
    "spamc": Way(couriers.spamc, needs=shutil.which("spamc") is not None),
    "rspamc": Way(couriers.rspamc, needs=shutil.which("rspamc") is not None),
    "HTTP": Way(couriers.http),
    "SMTP proxy": Way(couriers.smtp_proxy),
    "LMTP proxy": Way(couriers.lmtp_proxy, {"doors.proxy.protocol": "lmtp"}),
}


@pytest.fixture(scope="module", params=WAYS)
def way(
    request: pytest.FixtureRequest, golden_dns: Zones, golden_policy: Path
) -> Iterator[tuple[Oborona, Bring]]:
    taken: Way = WAYS[request.param]
    if not taken.needs:
        pytest.skip(f"{request.param}: its programs are not here, or need root")
    folder = Path(tempfile.mkdtemp(prefix="oborona-test-", dir="/tmp"))
    folder.chmod(0o755)
    house = House(folder)
    settings = house.settings | {
        "site.name": "mx.example.test",
        "worker.processes": 1,
        "dns.servers": golden_dns.setting,
        "paths.policy": golden_policy,
        "worker.deadline_s": 60,
        "reader.look_wait_s": 10,
        "reader.read_wait_s": 30,  # for a busy machine
    }
    with Oborona(settings | dict(taken.settings)) as oborona, taken.courier(house) as bring:
        yield oborona, bring
    shutil.rmtree(folder)


@each_mail
def test_the_same_comes_of_a_mail_by_every_door(mail: Path, way: tuple[Oborona, Bring]) -> None:
    oborona, bring = way
    before = len(oborona.log())
    heard = bring(mail.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    wanted = want(mail)
    line = _line(oborona, before)
    logged = dict(re.findall(r" (verdict|score|decided_by)=(\S+)", line.partition("stage=")[2]))
    assert (logged["verdict"], float(logged["score"])) == (wanted["verdict"], wanted["score"]), line
    assert logged["decided_by"] == wanted["decided_by"]
    assert all(rule in line for rule in wanted["rules"]), line
    if heard.verdict == "flagged":
        assert wanted["verdict"] != "accept"
    else:
        assert heard.verdict == wanted["verdict"]
    if heard.score is not None:
        assert heard.score == pytest.approx(wanted["score"], abs=0.051)


def _line(oborona: Oborona, before: int) -> str:
    """The one line of a message; it is written after the answer."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        lines = [
            line
            for line in oborona.log()[before:].splitlines(keepends=True)
            if "msg=verdict" in line
        ]
        if lines and lines[-1].endswith("\n"):
            (only,) = lines
            return only
        time.sleep(0.01)
    raise TimeoutError("no line in the log")
