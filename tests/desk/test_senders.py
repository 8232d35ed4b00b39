"""What a sender is told of a refusal, his appeal, and its answer; and what nobody is told."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona import state_files
from oborona.audit.reader import AuditedAct, AuditQuery, AuditReader
from oborona.desk.acts.appeals import AppealMetError
from oborona.desk.call import CallError, NotFoundError
from oborona.desk.call_runner import CallRunner
from oborona.desk.calls import CALLS
from oborona.desk.process import desk_server
from oborona.desk.senders.call_rate import CallLimitError, CallRate
from oborona.desk.senders.refusal_reasons import refusal_reasons
from oborona.desk.senders.sender_desk import APPEALS_OF_NETWORK, LOOKS_OF_NETWORK, SenderDesk
from oborona.desk.site import Site
from oborona.feedback.cases.appeals import (
    KEPT_S,
    MOST_OF_DOMAIN,
    Appeal,
    AppealBook,
    AppealState,
    RefusalReason,
)
from oborona.ident import to_text
from oborona.journal.refusal import REFERENCES
from oborona.people.rights import Role
from oborona.types import Action, RuleHit
from tests.desk.calling import call, person, take_back
from tests.desk.messages_site import entry_of, fill, make_site
from tests.journal.refusals import make_refusal

RULES = """
[[rule]]
name = "SPF_FAIL"
when = "spf.result == 'fail'"
score = 30
say = "SPF says no"
[[rule]]
name = "NO_NAME"
when = "iprev.result == 'fail'"
score = 10
[[rule]]
name = "CASINO"
when = "'casino' in subject.raw"
score = 200
[[rule]]
name = "TRAPPED"
when = "count[ClientIp].day.traps > 0 and spf.result == 'fail'"
score = 200
[[dns_list]]
name = "ZEN"
of = ["client"]
zone = "zen.example.test"
score = 120
why = "a list"
"""
ANN = "Ann@Example.org"
NOTHING = {
    "known": False, "reference": "", "time": 0.0, "put_off": False, "reasons": [],
    "may_appeal": False, "appeal": None, "words": "",
}  # fmt: skip
ANALYST = person(Role.ANALYST)


class SenderSite:
    """A site whose journal has refusals, and what a sender hears there."""

    def __init__(self, folder: Path, *, on: bool = True) -> None:
        self.site: Site = make_site(folder, RULES, console__senders="true" if on else "false")
        now = time.time()
        hits = (
            RuleHit(name="CASINO", score=200.0, say="casino"),
            RuleHit(name="SPF_FAIL", score=30.0, say="SPF says no"),
        )
        content = entry_of(
            verdict=Action.REJECT, decided_by="CASINO", sender=ANN, rules=hits, score=230.0
        )
        taken = entry_of(ago_s=700, verdict=Action.SPAM, sender=ANN)
        self.content, self.taken = to_text(content.id), to_text(taken.id)
        self.listed, self.grey = fill(
            self.site, content, taken,
            refusals=[
                make_refusal(time=now - 60, sender=ANN),
                make_refusal(
                    time=now - 50, sender=ANN, verdict=Action.TEMPFAIL, decided_by="greylisted",
                    rules=(),
                ),
            ],
        )  # fmt: skip
        self.desk = SenderDesk(self.site, CallRunner(self.site))

    def hear(self, name: str, place: str = "192.0.2.7", **asked: str) -> Any:
        """Return what a call answers."""
        body = self.desk.open_calls[f"senders.{name}"].run(
            msgspec.json.encode(asked), "", place, "a browser"
        )
        return msgspec.json.decode(body)

    def acts(self) -> list[AuditedAct]:
        """Return what the audit log has."""
        path = self.site.state / state_files.AUDIT
        if not path.exists():
            return []
        with AuditReader(path) as reader:
            return reader.acts(AuditQuery(), 100)


@pytest.fixture
def senders(tmp_path: Path) -> SenderSite:
    return SenderSite(tmp_path)


def test_a_sender_is_told_the_kind_of_reason_alone(senders: SenderSite) -> None:
    told = senders.hear("look", reference=senders.content, address=ANN)
    assert (told["known"], told["put_off"], told["may_appeal"]) == (True, False, True)
    assert told["reasons"] == ["content", "sender"]
    assert "CASINO" not in str(told)
    listed = senders.hear(
        "look",
        reference=f"550 5.7.1 Client refused, listed by ZEN, reference {senders.listed.lower()}; x",
        address="<bounces@example.ORG>",
    )
    assert (listed["reference"], listed["reasons"]) == (senders.listed, ["listed"])
    grey = senders.hear("look", reference=senders.grey, address=ANN)
    assert (grey["put_off"], grey["reasons"], grey["may_appeal"]) == (True, ["greylisted"], False)
    assert senders.acts() == []


def test_whatever_does_not_fit_has_one_answer(senders: SenderSite) -> None:
    for reference, address in (
        (senders.content, "ann@example.com"),
        (senders.content, "ann@sub.example.org"),
        (senders.content, "example.org"),
        (senders.content, ""),
        (senders.taken, ANN),
        ("0SAH375J007Q5", ANN),
        ("", ANN),
        ("\0'; DROP TABLE appeal --", ANN),
        ("reference " + "Z" * 900, ANN),
    ):
        assert (
            senders.hear("look", place=reference, reference=reference, address=address) == NOTHING
        )
        answer = senders.hear(
            "appeal", place=f"{reference}{address}", reference=reference, address=address, text="x"
        )
        assert answer == NOTHING
    assert senders.acts() == []
    for asked in ({"reference": "x" * 1001}, {"address": "x" * 321}, {"more": "x"}):
        with pytest.raises(CallError):
            senders.hear("look", **({"reference": "x", "address": ANN} | asked))


def test_a_shared_reference_is_nobodys(senders: SenderSite) -> None:
    now = time.time()
    many = [
        make_refusal(time=now, client_ip=f"203.0.113.{number}", sender=ANN)
        for number in range(REFERENCES + 2)
    ]
    *_, shared = fill(senders.site, refusals=many)
    assert senders.hear("look", reference=shared, address=ANN) == NOTHING


def test_an_appeal_is_made_once_answered_and_read(senders: SenderSite) -> None:
    hostile = "\u202e<script>alert(1)</script>{{7*7}}"
    asked = {"reference": senders.content, "address": ANN}
    told = senders.hear("appeal", **asked, text=f" {hostile} ")
    assert (told["appeal"], told["may_appeal"]) == ("waiting", False)
    assert senders.hear("appeal", **asked, text="once more")["appeal"] == "waiting"

    (row,) = senders.acts()
    assert (row.act, row.person, row.source) == ("appeals.send", "a sender", ANN)
    assert (row.about, row.place, row.status) == (senders.content, "192.0.2.7", 200)
    assert "script" not in str(senders.acts())

    listed = call(senders.site, "appeals.list", ANALYST)
    (appeal,) = listed["appeals"]
    assert (listed["waiting"], appeal["text"], appeal["state"]) == (1, hostile, "waiting")
    assert (appeal["reference"], appeal["reasons"]) == (senders.content, ["content", "sender"])

    answer = {"id": appeal["id"], "verdict": "pardon", "words": "It was a mistake."}
    tried = call(senders.site, "appeals.answer", ANALYST, **answer, dry=True)
    assert tried["appeal"]["state"] == "pardoned"
    assert senders.hear("look", **asked)["appeal"] == "waiting"
    done = call(senders.site, "appeals.answer", ANALYST, **answer)
    with pytest.raises(AppealMetError, match="was answered by anna"):
        call(senders.site, "appeals.answer", ANALYST, **answer)
    told = senders.hear("look", **asked)
    assert (told["appeal"], told["words"]) == ("pardoned", "It was a mistake.")
    assert "anna" not in str(told)
    assert call(senders.site, "appeals.list", ANALYST)["appeals"] == []
    assert len(call(senders.site, "appeals.list", ANALYST, answered=True)["appeals"]) == 1

    reopened = take_back(senders.site, done, ANALYST)
    told = senders.hear("look", **asked)
    assert (told["appeal"], told["words"]) == ("waiting", "")
    with pytest.raises(AppealMetError, match="waits already"):
        take_back(senders.site, done, ANALYST)
    take_back(senders.site, reopened, ANALYST)
    assert senders.hear("look", **asked)["words"] == "It was a mistake."
    # the journal has the refusal no more: the answer is there all the same
    (senders.site.state / state_files.JOURNAL).unlink()
    fill(senders.site)
    assert senders.hear("look", **asked)["appeal"] == "pardoned"
    assert senders.hear("look", **(asked | {"address": "a@example.com"})) == NOTHING


def test_an_appeal_and_its_answer_need_words(senders: SenderSite) -> None:
    asked = {"reference": senders.content, "address": ANN}
    with pytest.raises(CallError, match="needs a text"):
        senders.hear("appeal", **asked, text=" \n")
    with pytest.raises(CallError):
        senders.hear("appeal", **asked, text="x" * 1001)
    with pytest.raises(NotFoundError):
        call(senders.site, "appeals.show", ANALYST, id=1)
    with pytest.raises(NotFoundError):
        call(senders.site, "appeals.reopen", ANALYST, id=1)
    senders.hear("appeal", **asked, text="why?")
    with pytest.raises(CallError, match="needs words"):
        call(senders.site, "appeals.answer", ANALYST, id=1, verdict="decline", words=" ")
    with pytest.raises(NotFoundError):
        call(senders.site, "appeals.show", ANALYST, id=2)
    # what comes again by itself is nothing to decide
    told = senders.hear("appeal", reference=senders.grey, address=ANN, text="now, please")
    assert (told["known"], told["appeal"]) == (True, None)


def test_who_asks_too_often_waits(senders: SenderSite) -> None:
    for number in range(LOOKS_OF_NETWORK):
        senders.hear("look", f"192.0.2.{number}", reference="x", address=ANN)
    with pytest.raises(CallLimitError) as told:
        senders.hear("look", reference=senders.content, address=ANN)
    assert (told.value.status, 3590 < told.value.wait_s <= 3600) == (429, True)
    senders.hear("look", "198.51.100.1", reference="x", address=ANN)
    for _ in range(APPEALS_OF_NETWORK):
        senders.hear("appeal", reference="x", address=ANN, text="x")
    with pytest.raises(CallLimitError):
        senders.hear("appeal", reference="x", address=ANN, text="x")


def test_a_rate_holds_for_a_network_and_for_all_and_is_forgotten() -> None:
    rate = CallRate(2, 3, 60.0)
    rate.charge("192.0.2.1", 0.0)
    rate.charge("192.0.2.2", 10.0)
    with pytest.raises(CallLimitError) as told:
        rate.charge("192.0.2.3", 20.0)
    assert told.value.wait_s == 40.0
    rate.charge("", 30.0)
    with pytest.raises(CallLimitError) as told:
        rate.charge("2001:db8::1", 30.0)
    assert told.value.wait_s == 30.0
    rate.charge("192.0.2.1", 60.0)


def appeal_of(reference: int, **changes: Any) -> Appeal:
    usual: dict[str, Any] = {
        "id": 0, "reference": reference, "address": ANN, "domain": "example.org", "refused": 1.0,
        "put_off": False, "reasons": (RefusalReason.CONTENT,), "at": 1000.0, "text": "why?",
    }  # fmt: skip
    return Appeal(**usual | changes)


def test_a_domain_and_the_site_have_so_many_appeals_a_day(tmp_path: Path) -> None:
    with AppealBook(tmp_path / "cases.db") as book:
        for number in range(MOST_OF_DOMAIN):
            assert book.take(appeal_of(number))
        assert book.take(appeal_of(0))  # it is there
        assert not book.take(appeal_of(90))
        for number in range(100, 290):
            assert book.take(appeal_of(number, domain=f"{number}.example"))
        assert not book.take(appeal_of(91, domain="other.example"))
        assert book.take(appeal_of(92, at=1000.0 + 86_401))
        assert book.waiting() == 201
        # the old go
        assert book.take(appeal_of(93, at=1000.0 + KEPT_S + 1))
        assert book.waiting() == 2
        assert book.answer(999, AppealState.DECLINED, "no", by="joe", now=1.0) is None


def test_no_kind_tells_of_traps_or_names_a_rule(senders: SenderSite) -> None:
    policy = senders.site.policy()

    def kinds(decided_by: str, *names: str) -> list[str]:
        rules = [RuleHit(name=name, score=10.0, say="") for name in names]
        return list(refusal_reasons(decided_by, rules, policy))

    assert kinds("TRAPPED", "TRAPPED") == ["content"]
    assert kinds("PERSONAL") == ["content"]
    assert kinds("REPIP_BAD") == ["listed"]
    assert kinds("NO_NAME", "NO_NAME", "SPF_FAIL") == ["name", "sender"]
    assert kinds("gone", "ZEN", "NO_NAME") == ["content", "listed", "name"]
    assert kinds("busy", "ZEN") == ["busy"]
    assert refusal_reasons("ZEN", (), None) == (RefusalReason.CONTENT,)


def test_there_are_no_such_calls_unless_the_site_wants_them(tmp_path: Path) -> None:
    assert SenderSite(tmp_path, on=False).desk.open_calls == {}
    assert "appeals.send" not in CALLS
    assert desk_server.__doc__
