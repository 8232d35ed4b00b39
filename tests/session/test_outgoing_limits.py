"""Limits on outgoing mail in a session: what the client hears, what is counted, what is said."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import pytest

from oborona.accounts.directory import AccountDirectory
from oborona.accounts.excess import Excess, check_excess, parse_excess
from oborona.accounts.limits.report import LIMITS
from oborona.accounts.sending_account import SendingAccount
from oborona.counters.memory import MemoryCounters
from oborona.counters.window import DAY_S, Timeline
from oborona.doors.raw_message import RawMessage
from oborona.doors.reply import CONTINUE, ReplyAction, SessionReply
from oborona.errors import StoreError
from oborona.message.shingles import Hasher, ShingleType
from oborona.policy.ports import Totals
from oborona.session.judged_message import HELD
from oborona.session.outgoing_limits import early_limits
from oborona.types import (
    Action,
    Amounts,
    Client,
    CountedPieces,
    CounterPrefix,
    Location,
    Metric,
    Shingle,
    Stage,
    Window,
)
from tests.session.test_session import KEY, NOW, Table, gathered

ANN: Final = Hasher(KEY).shingle(ShingleType.ACCOUNT, "ann@a.example")
SPAM: Final = b"XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"


def limit(
    then: str,
    *,
    name: str = "A",
    each: str = "account",
    count: str = "recipients",
    window: str = "hour",
    most: str = "3",
    more: str = "",
) -> str:
    return (
        f'[[limit]]\nname = "{name}"\neach = "{each}"\ncount = "{count}"\nwindow = "{window}"\n'
        f'limit = {most}\nthen = "{then}"\n{more}\n'
    )


class Sending(Table):
    """A session of own people."""

    def __init__(
        self,
        folder: Path,
        rules: str,
        *,
        counters: MemoryCounters | None = None,
        refuse: bool = True,
    ) -> None:
        if not refuse:
            (folder / "20.toml").write_text("[verdict]\nrefuse = false\n")
        super().__init__(folder, rules, counters=counters)
        self.excesses: list[Excess] = []
        services = self.session._services
        if counters is not None:
            self.counts = counters
        self.session._services = msgspec.structs.replace(
            services, counters=self.counts, excess=self
        )

    def take(self, excess: Excess) -> None:
        """Take an excess, as who follows accounts does."""
        check_excess(excess)
        self.excesses.append(excess)

    async def send(
        self,
        recipients: int = 1,
        *,
        login: str = "Ann@a.example",
        ip: str = "192.0.2.7",
        text: bytes = b"At noon?",
        sender: str = "ann@a.example",
    ) -> SessionReply:
        """Send one message, and let what comes after the answer happen."""
        self.session.learn({"daemon_port": "587" if ip else ""})
        await self.session.connect(Client(ip=ip))
        self.session.learn({"auth_authen": login} if login else {})
        told = await self.session.mail(sender, ())
        if told.answer is ReplyAction.CONTINUE:
            for number in range(recipients):
                await self.session.rcpt(f"bob{number}@b.example", ())
            told = await self.session.end_of_message(gathered(b"", text))
        await asyncio.sleep(0)
        return told

    async def sent(self, prefix: CounterPrefix, shingle: Shingle = ANN) -> int:
        (row,) = await self.counts.read([shingle], self.now, prefix)
        return row[Window.DAY][Metric.SEEN]


class Away(MemoryCounters):
    """Counters that can't be read while somebody says so."""

    away = False

    async def read(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> Totals:
        if self.away:
            raise StoreError("the disk is gone")
        return await super().read(shingles, now, prefix)

    async def timelines(
        self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
    ) -> list[Timeline]:
        if self.away:
            raise StoreError("the disk is gone")
        return await super().timelines(shingles, now, prefix)


@pytest.mark.parametrize(
    ("then", "code", "answer"),
    [
        ("refuse", 550, ReplyAction.REJECT),
        ("tempfail", 451, ReplyAction.TEMPFAIL),
        ("hold", 550, ReplyAction.HOLD),
    ],
)
async def test_what_is_within_a_limit_passes_and_what_goes_over_does_not(
    then: str, code: int, answer: ReplyAction, tmp_path: Path
) -> None:
    table = Sending(tmp_path, limit(then))
    assert (await table.send(2)).answer is ReplyAction.ACCEPT
    told = await table.send(2)  # 4 of 3
    assert (told.answer, told.code) == (answer, code)
    assert told.text.startswith("Too many recipients of this account")
    assert "reference " in told.text
    assert told.judged is not None  # what doors show that refuse by verdict
    assert told.judged.verdict.action == {"refuse": "reject", "tempfail": "tempfail"}.get(
        then, "accept"
    )
    assert "https://b.example/mail" in told.text
    assert (await table.send(1)).answer is (
        ReplyAction.ACCEPT if then != "hold" else ReplyAction.HOLD
    )  # what was not taken uses up nothing


async def test_what_was_taken_alone_is_counted(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse"))
    await table.send(2)
    await table.send(9)
    await table.send(1, text=SPAM)  # refused for its content
    assert await table.sent(CounterPrefix.SENT) == 1
    assert await table.sent(CounterPrefix.RECIPIENTS) == 2
    octets = await table.sent(CounterPrefix.OCTETS)
    assert 100 < octets < 300
    assert [entry.verdict for entry in table.journal] == [
        Action.ACCEPT,
        Action.ACCEPT,
        Action.REJECT,
    ]


async def test_a_held_message_uses_up_what_a_taken_one_does(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("hold"))
    await table.send(2)
    await table.send(2)
    assert await table.sent(CounterPrefix.RECIPIENTS) == 4


async def test_what_comes_again_is_counted_when_it_does(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("tempfail"))
    await table.send(2)
    for _ in range(3):
        assert (await table.send(2)).code == 451
    assert await table.sent(CounterPrefix.OUT) == 1
    table.now += 3600
    assert (await table.send(2)).answer is ReplyAction.ACCEPT
    assert await table.sent(CounterPrefix.OUT) == 2
    assert await table.sent(CounterPrefix.RECIPIENTS) == 4


@pytest.mark.parametrize("then", ["refuse", "tempfail"])
async def test_what_is_used_up_is_told_at_mail_from(then: str, tmp_path: Path) -> None:
    table = Sending(tmp_path, limit(then))
    assert Stage.SENDER in table.session.waits
    await table.send(3)
    before = len(table.journal)
    assert (await table.send(1)).code in (451, 550)
    assert len(table.journal) == before  # nothing came that could be journaled
    assert [excess.limit for excess in table.excesses] == ["A"]
    assert (await table.send(1, login="eve@a.example")).answer is ReplyAction.ACCEPT


async def test_nothing_waits_at_mail_from_for_what_can_not_be_told_there(tmp_path: Path) -> None:
    for number, text in enumerate(
        (
            limit("hold"),
            limit("alert"),
            limit("refuse", more='mode = "shadow"'),
            '[outgoing]\ninside = ["a.example"]\n' + limit("refuse"),
            '[outgoing]\nspam = "accept"\n' + limit("hold", count="messages"),
        )
    ):
        table = Sending(tmp_path / str(number), text)
        policy = await table.session._services.policy.now()
        assert not early_limits(table.session._services, policy)
        await table.send(3)
        assert await table.session.mail("ann@a.example", ()) is CONTINUE


async def test_a_limit_in_shadow_says_so_and_does_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "oborona")
    table = Sending(tmp_path, limit("refuse", more='mode = "shadow"'))
    before = LIMITS.value("A", "refuse", "shadow")
    assert (await table.send(5)).answer is ReplyAction.ACCEPT
    assert LIMITS.value("A", "refuse", "shadow") == before + 1
    (line,) = [record for record in caplog.records if record.getMessage() == "limit"]
    fields = line.__dict__
    told = fields.get("fields", fields)
    assert (told["limit"], told["value"], told["most"], told["done"]) == ("A", 5, 3, "nothing")
    (excess,) = table.excesses
    assert (excess.account, excess.shadow, excess.then) == ("ann@a.example", True, "refuse")
    (entry,) = table.journal
    assert [finding.evidence for finding in entry.findings if finding.name == "limit-passed"] == [
        "A: 5 of 3, refuse (shadow)"
    ]


async def test_an_alert_lets_mail_go_and_tells(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("alert"))
    assert (await table.send(5)).answer is ReplyAction.ACCEPT
    assert [(excess.value, excess.most) for excess in table.excesses] == [(5, 3)]


async def test_each_account_has_its_own_and_a_domain_shares_one(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse") + limit("refuse", name="B", each="domain", most="5"))
    assert (await table.send(3, login="ann@a.example")).answer is ReplyAction.ACCEPT
    assert (await table.send(2, login="bob@A.example")).answer is ReplyAction.ACCEPT
    told = await table.send(1, login="eve@a.example")
    assert told.text.startswith("Too many recipients of this domain")
    assert (await table.send(3, login="ann@other.example")).answer is ReplyAction.ACCEPT


async def test_an_address_is_limited_whoever_logs_in_there(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse", each="address"))
    assert (await table.send(2, login="ann@a.example", ip="2001:db8::1")).code == 0
    assert (await table.send(2, login="bob@a.example", ip="2001:db8::ff:2")).code == 550  # its /64
    assert (await table.send(2, login="bob@a.example", ip="2001:db8:0:1::1")).code == 0
    assert (await table.send(3, login="", ip="192.0.2.9")).code == 0
    assert (await table.send(1, login="eve@a.example", ip="192.0.2.9")).code == 550


async def test_all_of_ours_together(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse", each="all", count="messages", most="2"))
    await table.send(1)
    await table.send(1, login="bob@c.example", ip="192.0.2.8")
    assert (await table.send(1, login="", ip="192.0.2.9")).code == 550


async def test_a_forged_sender_uses_up_nobodys_limit(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse"))
    for _ in range(5):
        assert (await table.send(3, login="", sender="ann@a.example")).answer is ReplyAction.ACCEPT
    assert (await table.send(3, sender="ann@a.example")).answer is ReplyAction.ACCEPT


async def test_strangers_mail_is_under_no_limit(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse", each="all", count="messages", most="1"))
    for _ in range(3):
        table.session.learn({"daemon_port": "25"})
        await table.session.connect(Client(ip="198.51.100.9"))
        await table.session.mail("stranger@c.example", ())
        await table.session.rcpt("bob@b.example", ())
        reply = await table.session.end_of_message(gathered(b"", b"hi"))
        assert reply.answer is ReplyAction.ACCEPT
    assert table.excesses == []


async def test_a_program_of_the_mail_server_is_held_and_never_put_off(tmp_path: Path) -> None:
    """Postfix' pickup tries a message of `sendmail` that is put off again at once."""
    text = '[outgoing]\ninside = ["a.example"]\n'
    table = Sending(tmp_path, text + limit("tempfail", each="all", count="messages", most="1"))
    assert (await table.send(1, login="", ip="127.0.0.1")).answer is ReplyAction.ACCEPT
    assert (await table.send(1, login="", ip="127.0.0.1")).answer is ReplyAction.HOLD
    assert (await table.send(1, ip="192.0.2.7")).answer is ReplyAction.TEMPFAIL


@pytest.mark.parametrize("ip", ["192.0.2.7", "127.0.0.1"])
@pytest.mark.parametrize("then", ["hold", "tempfail"])
async def test_where_nothing_can_be_held_it_is_refused_and_uses_up_nothing(
    then: str, ip: str, tmp_path: Path
) -> None:
    """Of a program, what would be put off would be held."""
    login = "" if ip == "127.0.0.1" else "ann@a.example"
    table = Sending(
        tmp_path, '[outgoing]\ninside = ["a.example"]\n' + limit(then, each="address", most="3")
    )
    table.session.refuse_holds()
    assert (await table.send(3, login=login, ip=ip)).answer is ReplyAction.ACCEPT
    address = Hasher(KEY).shingle(ShingleType.CLIENT_IP, ip)
    for _ in range(2):
        told = await table.send(1, login=login, ip=ip)
        put_off = then == "tempfail" and login
        assert told.answer is (ReplyAction.TEMPFAIL if put_off else ReplyAction.REJECT)
        assert "Too many recipients of your address" in told.text
        assert HELD not in table.journal[-1].findings
    assert await table.sent(CounterPrefix.RECIPIENTS, address) == 3


async def test_spam_is_refused_where_it_can_not_be_held(tmp_path: Path) -> None:
    table = Sending(tmp_path, "[outgoing]\nspam_score = 100\nreject_score = 5000\n")
    assert (await table.send(text=SPAM)).answer is ReplyAction.HOLD
    assert HELD in table.journal[-1].findings
    assert await table.sent(CounterPrefix.SENT) == 1
    table.session.refuse_holds()
    told = await table.send(text=SPAM)
    assert told.answer is ReplyAction.REJECT
    assert told.text.startswith("Message looks like spam, reference ")
    assert told.edits == ()
    assert HELD not in table.journal[-1].findings
    assert await table.sent(CounterPrefix.SENT) == 1


async def test_mail_to_our_own_mailboxes_alone_is_under_no_limit(tmp_path: Path) -> None:
    text = '[outgoing]\ninside = ["b.example"]\n' + limit("refuse")
    table = Sending(tmp_path, text)
    for _ in range(3):
        assert (await table.send(3)).answer is ReplyAction.ACCEPT
    assert await table.sent(CounterPrefix.RECIPIENTS) == 0


async def test_counters_that_are_away_stop_nobody_and_it_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "oborona")
    counters = Away()
    table = Sending(tmp_path, limit("refuse", most='"3 + usual"'), counters=counters)
    await table.send(3)
    counters.away = True
    for _ in range(3):
        assert (await table.send(9)).answer is ReplyAction.ACCEPT
    counters.away = False
    assert (await table.send(9)).code == 550
    said = [record.getMessage() for record in caplog.records]
    assert said.count("limits blind") == 1
    assert said.count("limits see again") == 1


async def test_usual_days_raise_a_limit_and_are_read_once_a_day(tmp_path: Path) -> None:
    class Counting(MemoryCounters):
        reads = 0

        async def timelines(
            self, shingles: Sequence[Shingle], now: float, prefix: CounterPrefix = CounterPrefix.IN
        ) -> list[Timeline]:
            if prefix is CounterPrefix.RECIPIENTS:
                self.reads += 1
            return await super().timelines(shingles, now, prefix)

    counters = Counting()
    pieces = CountedPieces(shingles=(ANN,), pairs=())
    for day in range(1, 8):
        at = NOW - day * DAY_S
        counters.add(pieces, Amounts(seen=40), at, CounterPrefix.RECIPIENTS)
    table = Sending(tmp_path, limit("refuse", most='"max(3, 2 * usual)"'), counters=counters)
    assert (await table.send(50)).answer is ReplyAction.ACCEPT
    assert (await table.send(30)).answer is ReplyAction.ACCEPT
    assert (await table.send(1)).code == 550  # 81 of 80
    assert (await table.send(4, login="new@a.example")).code == 550
    assert counters.reads == 2  # one for each account
    table.now += DAY_S
    assert (await table.send(80)).answer is ReplyAction.ACCEPT
    assert counters.reads == 3


async def test_spam_of_an_account_that_was_refused_uses_up_a_limit_on_spam(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse", count="spam", window="day", most="2"))
    for _ in range(3):
        assert "spam" in (await table.send(1, text=SPAM)).text
    told = await table.send(1)
    assert told.code == 550
    assert told.text.startswith("Too many messages that look like spam of this account")


async def test_addresses_of_an_account(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse", count="addresses", window="day", most="2"))
    for last in (1, 2, 3, 3, 3):
        assert (await table.send(1, ip=f"192.0.2.{last}")).answer is ReplyAction.ACCEPT or last == 3
    assert (await table.send(1, ip="192.0.2.1")).code == 550


@pytest.mark.parametrize("then", ["refuse", "hold"])
async def test_new_recipients_are_those_whom_the_account_never_wrote_to(
    then: str, tmp_path: Path
) -> None:
    table = Sending(tmp_path, limit(then, count="new_recipients"))
    for _ in range(5):  # always the same two
        assert (await table.send(2)).answer is ReplyAction.ACCEPT
    assert await table.sent(CounterPrefix.NEW_RECIPIENTS) == 2
    assert (await table.send(2, login="bob")).answer is ReplyAction.ACCEPT
    told = await table.send(4)  # two more
    assert told.code == 550
    assert "Too many new recipients of this account" in told.text
    assert await table.sent(CounterPrefix.NEW_RECIPIENTS) == 4
    told = await table.send(4)  # the same list again makes nobody known
    assert told.code == 550
    assert await table.sent(CounterPrefix.NEW_RECIPIENTS) == 4


async def test_new_recipients_of_a_large_message_are_counted_to_a_thousand(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("alert", count="new_recipients", most="5000"))
    await table.send(400)
    assert await table.sent(CounterPrefix.NEW_RECIPIENTS) == 400
    await table.send(1200)
    assert await table.sent(CounterPrefix.NEW_RECIPIENTS) == 1000
    table.now += 15 * DAY_S
    await table.send(1)
    assert await table.sent(CounterPrefix.NEW_RECIPIENTS) == 1, "two weeks later he is new again"


async def test_recipients_of_refused_spam_are_counted_as_they_become_known(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse", count="new_recipients", most="2"))
    assert (await table.send(3, text=SPAM)).answer is not ReplyAction.ACCEPT
    assert await table.sent(CounterPrefix.NEW_RECIPIENTS) == 3
    assert (await table.send(3)).code == 550


async def test_where_no_limit_asks_new_recipients_are_not_counted(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse", most="100"))
    await table.send(3)
    assert await table.sent(CounterPrefix.NEW_RECIPIENTS) == 0


FIRM: Final = AccountDirectory()
FIRM.learn(
    (
        SendingAccount(
            id=name, customer="firm", rating=rating, logins=(name,), networks=(f"192.0.2.{net}/28",)
        )
        for name, rating, net in (("ann", 90, 0), ("bob", 20, 16))
    ),
    anew=True,
)


def of_the_firm(folder: Path, rules: str) -> Sending:
    """Return sessions of a site whose accounts are known."""
    table = Sending(folder, rules)
    services = table.session._services
    table.session._services = msgspec.structs.replace(services, known_accounts=FIRM)
    return table


async def test_a_customers_accounts_share_one(tmp_path: Path) -> None:
    spam = limit("alert", name="B", count="spam", most="100")
    table = of_the_firm(tmp_path, limit("refuse", each="customer") + spam)
    assert (await table.send(2, login="ann")).answer is ReplyAction.ACCEPT
    assert (await table.send(1, login="bob")).answer is ReplyAction.ACCEPT
    assert (await table.send(9, login="joe")).answer is ReplyAction.ACCEPT  # of no customer
    told = await table.send(1, login="", ip="192.0.2.18")  # a machine of Bob's
    assert told.code == 550
    assert told.text.startswith("Too many recipients of this customer")
    assert (await table.send(1, login="ann")).code == 550


async def test_a_network_of_an_account_shares_one(tmp_path: Path) -> None:
    table = of_the_firm(tmp_path, limit("refuse", each="network"))
    assert (await table.send(3, login="ann", ip="192.0.2.1")).answer is ReplyAction.ACCEPT
    assert (await table.send(1, login="ann", ip="192.0.2.17")).answer is ReplyAction.ACCEPT
    assert (await table.send(9, login="ann", ip="198.51.100.1")).answer is ReplyAction.ACCEPT
    told = await table.send(1, login="joe", ip="192.0.2.2")
    assert told.code == 550
    assert told.text.startswith("Too many recipients of your network")


async def test_formulas_know_the_account(tmp_path: Path) -> None:
    most = '"100 if rating >= 70 else 1"'
    table = of_the_firm(tmp_path, limit("refuse", most=most, more="unless = \"customer == 'vip'\""))
    assert (await table.send(2, login="ann")).answer is ReplyAction.ACCEPT
    assert (await table.send(2, login="bob")).code == 550
    assert (await table.send(2, login="joe")).code == 550  # nothing is known of him


class Atlas:
    """Where addresses are: each 198.51.100.N in a country of its own, others nowhere."""

    def find(self, address: str) -> Location:
        """Return where an address is."""
        net, _, last = address.rpartition(".")
        return Location(country=f"X{chr(64 + int(last))}" if net == "198.51.100" else "")


async def test_countries_of_an_account(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse", count="countries", window="day", most="2"))
    services = table.session._services
    site = msgspec.structs.replace(services.site, places=Atlas())
    table.session._services = msgspec.structs.replace(services, site=site)
    for ip in ("198.51.100.1", "192.0.2.1", "192.0.2.2", "198.51.100.2", "198.51.100.3"):
        assert (await table.send(1, ip=ip)).answer is ReplyAction.ACCEPT  # counted once answered
    assert (await table.send(1, ip="198.51.100.1", login="bob")).answer is ReplyAction.ACCEPT
    told = await table.send(1, ip="198.51.100.1")
    assert told.code == 550
    assert told.text.startswith("Too many countries of this account")


async def test_what_is_held_for_its_content_stays_so(tmp_path: Path) -> None:
    text = '[[rule]]\nname = "SPAMMY"\nwhen = "true"\nscore = 120\n'
    for then, answer in (
        ("tempfail", ReplyAction.HOLD),
        ("hold", ReplyAction.HOLD),
        ("refuse", ReplyAction.REJECT),
    ):
        table = Sending(tmp_path / then, text + limit(then))
        told = await table.send(5)
        assert told.answer is answer
        assert ("looks like spam" in told.text) is (then != "refuse")


async def test_words_of_the_admin_are_told(tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("refuse", more='say = "Call 555 before a mailing"'))
    told = await table.send(9)
    assert told.text.startswith("Call 555 before a mailing, reference ")


async def test_traps_are_not_told(tmp_path: Path) -> None:
    counters = MemoryCounters()
    counters.add(CountedPieces(shingles=(ANN,), pairs=()), Amounts(traps=2), NOW, CounterPrefix.OUT)
    table = Sending(
        tmp_path, limit("refuse", count="traps", window="day", most="1"), counters=counters
    )
    told = await table.send(1)
    assert told.code == 550
    assert "trap" not in told.text.lower()


async def test_who_follows_excesses_and_fails_stands_in_nobodys_way(tmp_path: Path) -> None:
    class Broken(Sending):
        def take(self, excess: Excess) -> None:
            raise OSError("the disk is full")

    table = Broken(tmp_path, limit("alert", name="A") + limit("refuse", name="B", most="8"))
    assert (await table.send(5)).answer is ReplyAction.ACCEPT
    assert (await table.send(5)).code == 550
    assert await table.sent(CounterPrefix.RECIPIENTS) == 5


@pytest.mark.parametrize("then", ["refuse", "hold", "tempfail"])
async def test_a_policy_that_refuses_no_mail_at_all_tells_of_limits_alone(
    then: str, tmp_path: Path
) -> None:
    table = Sending(tmp_path, limit(then), refuse=False)
    assert Stage.SENDER not in table.session.waits
    for _ in range(3):
        assert (await table.send(2)).answer is ReplyAction.ACCEPT
    assert [excess.value for excess in table.excesses] == [4, 6]


async def test_an_excess_is_written_down_before_the_answer(tmp_path: Path) -> None:
    """Whoever is killed once the client was told has told of it."""
    table = Sending(tmp_path, limit("refuse"))
    before = []
    session = table.session
    end, mail = session.end_of_message, session.mail

    async def ended(message: RawMessage) -> SessionReply:
        reply = await end(message)
        before.append(len(table.excesses))
        return reply

    async def began(sender: str, params: tuple[str, ...]) -> SessionReply:
        reply = await mail(sender, params)
        before.append(len(table.excesses))
        return reply

    session.end_of_message, session.mail = ended, began  # type: ignore[method-assign]
    await table.send(9)  # over at its end
    await table.send(3)
    await table.send(1)  # over at MAIL FROM
    assert before == [0, 1, 1, 1, 2]


@pytest.mark.parametrize("login", ["Ann@a.example", "\udcff@a.example"])
async def test_an_excess_of_odd_octets_can_be_written_down(login: str, tmp_path: Path) -> None:
    table = Sending(tmp_path, limit("alert"))
    await table.send(9, login=login, sender="\udcffann@a.example")
    (excess,) = table.excesses
    assert parse_excess(msgspec.json.encode(excess)) == excess
