"""The dispatch of alerts: each is logged, at most one of a kind in each interval, and sent by
webhook and mail from a task of its own.

    raise_ → log, unless the kind was lately → the kind was told lately: wait for the rest of its
    interval, and tell all of it as one
                 → else: told at once

Nothing here holds its caller up, or fails it: what can't be told in some attempts is logged as such
and given up, and of alerts that come faster than they can be told the newest of each kind is kept,
with the number of the others.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from oborona.config import Settings
from oborona.config.alarm import AlarmSettings
from oborona.daemon.alarm.alert_mail import alert_mail, submit_mail
from oborona.daemon.alarm.webhook import DeliveryFailed, post_webhook
from oborona.errors import ConfigError
from oborona.metrics import Counter
from oborona.telemetry.alert import Alert, encodable_text
from oborona.telemetry.log import event

MOST_KINDS: Final = 32  # that wait at a time; alerts of further kinds are logged and not sent
MOST_TEXT: Final = 8000  # characters of a text
MOST_BODY: Final = 256 * 1024  # octets of JSON; an alert whose evidence is larger goes without it
MIN_KEY_BYTES: Final = 16
PAUSE_S: Final = 1.0  # before the second attempt; each later pause is twice the one before

ALERTS: Final = Counter(
    "oborona_alerts",
    (
        "Alerts by channel (webhook, mail; all: before either) and outcome; failed: given up, "
        "the log has it; dropped: too many kinds at once."
    ),
    ("channel", "outcome"),
)

SendAttempt = Callable[[], Coroutine[Any, Any, None]]

log = logging.getLogger("oborona.alarm")


class _WaitingAlert:
    """An alert that waits to be told, and how many others of its kind it stands for."""

    __slots__ = ("alert", "more")

    def __init__(self, alert: Alert) -> None:
        self.alert = alert
        self.more = 0


class AlertDispatcher:
    """Sends alerts; use `open_alarm`, and close it.

    Args:
        settings: whom to tell.
        site: our name.
        key: to sign what is posted; empty = it is not.
        clock: Unix seconds.
        pause_s: before the second attempt.
    """

    def __init__(
        self,
        settings: AlarmSettings,
        site: str,
        key: bytes,
        *,
        clock: Callable[[], float],
        pause_s: float = PAUSE_S,
    ) -> None:
        self._settings = settings
        self._site = site
        self._key = key
        self._clock = clock
        self._pause_s = pause_s
        self._waiting: dict[str, _WaitingAlert] = {}  # by kind
        # by kind: loop time from which on it may be told again
        self._free_at: dict[str, float] = {}
        # by kind: loop time, and how many were not since
        self._logged: dict[str, tuple[float, int]] = {}
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._closing = False

    async def raise_(self, alert: Alert) -> None:
        """Take an alert; returns at once and never raises."""
        try:
            self._log(alert)
            alert = _encodable(alert)
            if self._closing or not (self._settings.webhook or self._settings.mail_to):
                return
            waits = self._waiting.get(alert.kind)
            if waits is not None:
                waits.alert = alert
                waits.more += 1
            elif len(self._waiting) < MOST_KINDS:
                self._waiting[alert.kind] = _WaitingAlert(alert)
            else:
                ALERTS.inc("all", "dropped")
                return
            self._news.set()
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._tell())
        except Exception:
            log.exception("an alert could not be taken")

    def _log(self, alert: Alert) -> None:
        """Log an alert; of a kind that was logged within `interval_s` the next one that is says how
        many were not.
        """
        now = asyncio.get_running_loop().time()
        at, left_out = self._logged.get(alert.kind, (-math.inf, 0))
        if now - at < self._settings.interval_s:
            self._logged[alert.kind] = at, left_out + 1
            return
        if len(self._logged) >= MOST_KINDS:
            self._logged = {
                kind: times
                for kind, times in self._logged.items()
                if now - times[0] < self._settings.interval_s
            }
        self._logged[alert.kind] = now, 0
        event(
            log,
            logging.WARNING,
            "alert",
            kind=alert.kind,
            title=alert.title,
            text=alert.text,
            **({"not_logged_before": left_out} if left_out else {}),
            **{f"evidence_{name}": value for name, value in alert.evidence.items()},
        )

    async def now(self, alert: Alert) -> dict[str, str]:
        """Tell an alert in one attempt, whatever was told before.

        Return what each channel said, "" where it was taken.
        """
        answers: dict[str, str] = {}
        for channel, send in self._channels(alert, 0).items():
            try:
                await send()
                answers[channel] = ""
            except DeliveryFailed as error:
                answers[channel] = str(error)
        return answers

    async def close(self, grace_s: float = 0.0) -> None:
        """Tell no more.

        Args:
            grace_s: seconds that what waits may still take; it is told without waiting for its
                interval.
        """
        self._closing = True
        self._news.set()
        if self._task is None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._task), grace_s)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._waiting:
            event(log, logging.WARNING, "alerts were not sent", kinds=sorted(self._waiting))

    async def _tell(self) -> None:
        """Tell what waits, until nothing does."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            self._news.clear()
            kind = min(self._waiting, key=lambda waiting_kind: self._free_at.get(waiting_kind, 0.0))
            wait_s = self._free_at.get(kind, 0.0) - loop.time()
            if wait_s > 0 and not self._closing:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), wait_s)
                continue
            waits = self._waiting.pop(kind)
            self._free_at[kind] = loop.time() + self._settings.interval_s
            self._free_at = {name: at for name, at in self._free_at.items() if at > loop.time()}
            await asyncio.gather(
                *(
                    self._attempts(channel, send)
                    for channel, send in self._channels(waits.alert, waits.more).items()
                )
            )

    async def _attempts(self, channel: str, send: SendAttempt) -> None:
        pause_s, left = self._pause_s, self._settings.attempts
        while True:
            left -= 1
            try:
                await send()
            except DeliveryFailed as error:
                if left and error.again:
                    await asyncio.sleep(pause_s)
                    pause_s *= 2
                    continue
                event(
                    log,
                    logging.ERROR,
                    "an alert could not be sent",
                    channel=channel,
                    error=str(error),
                )
                ALERTS.inc(channel, "failed")
            except Exception:
                log.exception("an alert could not be sent")
                ALERTS.inc(channel, "failed")
            else:
                ALERTS.inc(channel, "sent")
            return

    def _channels(self, alert: Alert, more: int) -> dict[str, SendAttempt]:
        """Return what tells an alert, by channel."""
        settings, attempts = self._settings, dict[str, SendAttempt]()
        now = self._clock()
        if settings.webhook:
            body = _body(alert, more, self._site)
            attempts["webhook"] = partial(
                post_webhook,
                settings.webhook,
                body,
                key=self._key,
                now=now,
                within_s=settings.deadline_s,
            )
        if settings.mail_to:
            recipients = settings.mail_to.split()
            sender = settings.mail_from or f"oborona@{self._site}"
            raw = alert_mail(
                f"[{self._site}] {alert.title}{_more(more)}"[:200],
                _words(alert, more, self._site),
                sender=sender,
                recipients=recipients,
                now=now,
            )
            attempts["mail"] = partial(
                submit_mail,
                raw,
                recipients,
                settings.server,
                name=self._site,
                within_s=settings.deadline_s,
            )
        return attempts


def open_alarm(settings: Settings, site: str, clock: Callable[[], float]) -> AlertDispatcher:
    """Return the alarm of a site.

    Args:
        settings: of the site.
        site: our name.
        clock: Unix seconds.

    Raises:
        ConfigError: the key can't be read, or is too short.
    """
    key = read_key(settings.alarm.webhook_key_file, "alarm.webhook_key_file")
    return AlertDispatcher(settings.alarm, site, key, clock=clock)


def read_key(file: str, setting: str) -> bytes:
    """Return the key that signs what is posted.

    Args:
        file: that holds it; empty = there is none.
        setting: that names the file.

    Raises:
        ConfigError: the key can't be read, or is too short.
    """
    if not file:
        return b""
    try:
        key = Path(file).read_bytes().strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"{setting}: {error}") from error
    if len(key) < MIN_KEY_BYTES:
        raise ConfigError(f"{setting}: {file} holds less than {MIN_KEY_BYTES} bytes")
    return key


def _encodable(alert: Alert) -> Alert:
    """Return an alert whose texts any encoding takes."""
    return msgspec.structs.replace(
        alert,
        title=encodable_text(alert.title),
        text=encodable_text(alert.text),
        evidence=_plain(alert.evidence),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return encodable_text(value)
    if isinstance(value, Mapping):
        return {_plain(name): _plain(entry) for name, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def _body(alert: Alert, more: int, site: str) -> bytes:
    fields = {
        "kind": alert.kind,
        "title": alert.title,
        "text": alert.text[:MOST_TEXT],
        "time": _time(alert),
        "site": site,
        "more": more,
        "evidence": alert.evidence,
    }
    body = msgspec.json.encode(fields, enc_hook=str)
    return body if len(body) <= MOST_BODY else msgspec.json.encode({**fields, "evidence": {}})


def _words(alert: Alert, more: int, site: str) -> str:
    lines = [f"{alert.title}{_more(more)}", "", alert.text[:MOST_TEXT], ""]
    lines += [
        f"{name}: {msgspec.json.encode(value, enc_hook=str).decode()[:1000]}"
        for name, value in alert.evidence.items()
    ]
    return "\n".join([*lines, "", f"{alert.kind}, {_time(alert)}, {site}", ""])


def _more(more: int) -> str:
    return f" (and {more} more)" if more else ""


def _time(alert: Alert) -> str:
    return datetime.fromtimestamp(alert.time, UTC).isoformat(timespec="seconds")
