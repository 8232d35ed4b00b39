"""The keeper has the queue looked into, and tells people of mail that is held for long."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.accounts.held_mail import DAY_S, HOUR_S, HeldMail
from oborona.accounts.time_mark import TimeMark
from oborona.config.alarm import AlarmSettings
from oborona.daemon.alarm.alarm import AlertDispatcher
from oborona.daemon.keeper.held_mail_watch import SENDERS_S, SETTLED_S, HeldMailWatch
from oborona.telemetry.alert import Alert, AlertKind

NOW = 1_800_000_000.0


class HoldingSite:
    """A site that holds mail."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.now = NOW
        self.told: list[Alert] = []
        alarm = AlertDispatcher(AlarmSettings(), "mx.test", b"", clock=lambda: self.now)

        async def note(alert: Alert) -> None:
            self.told.append(alert)

        alarm.raise_ = note  # type: ignore[method-assign]
        self.alarm = alarm
        self.watch = self.new_watch()
        self.mark = state / state_files.QUEUE_DUE

    def new_watch(self, hours: float = 24.0, *, senders: bool = False) -> HeldMailWatch:
        """Return a keeper's watch."""
        return HeldMailWatch(self.state, hours, self.alarm, lambda: self.now, senders=senders)

    def looked(self, number: int, oldest: float) -> None:
        """Have who may look into the queue write down what is held."""
        self.mark.unlink(missing_ok=True)
        mail = HeldMail(
            at=self.now, number=number, oldest=oldest, accounts=(("ann's@a.example", number),)
        )
        (self.state / state_files.QUEUE_HELD).write_bytes(msgspec.json.encode(mail))


@pytest.fixture
def site(tmp_path: Path) -> HoldingSite:
    return HoldingSite(tmp_path)


async def test_people_are_told_of_what_was_held_a_day_ago(site: HoldingSite) -> None:
    TimeMark(site.state / state_files.HELD_LAST).set(NOW)
    site.looked(2, NOW)
    await site.watch.step()
    assert (site.told, site.mark.exists()) == ([], False)
    site.now += 25 * HOUR_S
    await site.watch.step()
    assert (site.told, site.mark.exists()) == ([], True), "what is held now nobody knows"
    site.looked(2, NOW)
    await site.watch.step()
    (alert,) = site.told
    assert (alert.kind, alert.evidence["number"]) == (AlertKind.HELD, 2)
    assert alert.title == "2 messages are held, and the oldest has waited for 25 hours"
    assert "ann's@a.example: 2" in alert.text
    await site.watch.step()
    assert len(site.told) == 1, "once a day"
    site.now += DAY_S
    await site.watch.step()
    site.looked(1, NOW)
    await site.watch.step()
    assert site.told[1].title.startswith("1 message is held")


async def test_where_nobody_looks_people_are_told_that(site: HoldingSite) -> None:
    TimeMark(site.state / state_files.HELD_LAST).set(NOW)
    site.looked(1, NOW)
    site.now += 25 * HOUR_S
    await site.watch.step()
    site.now += 700
    await site.watch.step()
    (alert,) = site.told
    assert alert.title == "mail is held, and nobody can say how much"
    assert "systemctl enable --now oborona-queue.path" in alert.text


async def test_what_is_damaged_is_asked_for_again(
    site: HoldingSite, caplog: pytest.LogCaptureFixture
) -> None:
    path = site.state / state_files.QUEUE_HELD
    with caplog.at_level(logging.INFO, "oborona"):
        for octets in (b"{", b"\xff" * 5000, b"[" * 100_000, b'{"at": "now"}'):
            path.write_bytes(octets)
            await site.watch.step()
            assert not path.exists()
        await site.watch.step()
    messages = [record.message for record in caplog.records]
    assert messages.count("nobody is told of held mail") == 1
    assert messages.count("people are told of held mail again") == 1


def test_a_mark_that_cannot_be_set_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mark = TimeMark(tmp_path / "none" / "mark")
    for _ in range(3):
        mark.try_set(NOW)
    assert [record.message for record in caplog.records] == ["a time is not written down"]
    assert mark.time() == 0.0


@pytest.mark.parametrize("hours", [0.0, 24.0])
async def test_the_queue_is_looked_into_for_senders_when_a_burst_is_over(
    site: HoldingSite, hours: float
) -> None:
    site.looked(0, 0.0)
    watch = site.new_watch(hours, senders=True)
    site.now += 10
    TimeMark(site.state / state_files.HELD_LAST).set(site.now)
    await watch.step()
    assert not site.mark.exists(), "more may come"
    site.now += SETTLED_S
    await watch.step()
    assert site.mark.exists()
    site.mark.unlink()
    await watch.step()
    assert not site.mark.exists(), "it was asked for a moment ago"
    site.looked(1, site.now - 60)
    site.now += 2 * SENDERS_S
    await watch.step()
    assert not site.mark.exists(), "nothing was held since"
    assert site.told == []
