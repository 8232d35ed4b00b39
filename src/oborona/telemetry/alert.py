"""An alert: what happened, in words for people and with its evidence for programs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class AlertKind(StrEnum):
    """What an alert is about."""

    WAVE = "wave"  # many messages were moved in a short time
    CAMPAIGN = "campaign"  # many messages alike were seen in a short time
    RUNAWAY = "runaway"  # a policy was about to move more than its share of mail, and was stopped
    INCIDENT = "incident"  # an account went over a limit, and a person is to look
    LISTED = "listed"  # DNS lists have addresses of our own
    HELD = "held"  # mail of our own people is held, and nobody has looked at it
    HOOK = "hook"  # another system could not be told of an account, or nobody tells it
    EVENT_LOG = "event-log"  # tables of events are not checked, missing, or were set aside
    TEST = "test"  # somebody wanted to see whether alerts arrive


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One alert."""

    kind: str  # one of `AlertKind`
    title: str  # one line
    text: str  # some lines
    time: float  # Unix seconds
    # what JSON can hold: numbers, texts, lists and mappings of them
    evidence: Mapping[str, object] = {}


class CampaignSighting(msgspec.Struct, frozen=True, kw_only=True):
    """One campaign, by its latest message."""

    name: str  # the same for all its messages whose template is the same
    time: float  # Unix seconds, of the latest
    subject: str
    sender: str
    client: str
    hour: int  # copies of the last hour
    ips: int  # addresses that they came from, within a day
    complaints: int
    traps: int
    verdict: str


def encodable_text(text: str) -> str:
    """Return a text that any encoding takes: a peer's can hold lone surrogates, which neither JSON
    nor mail does.
    """
    return text.encode("utf-8", "replace").decode()
