"""What every target asks for: findings with known names, text of octets."""

from __future__ import annotations

from oborona.message.findings import NAMES, Findings


def known(findings: Findings) -> None:
    assert {each.name for each in findings.all()} <= NAMES.keys()


def text_of(octets: bytes) -> str:
    return octets.decode("utf-8", "replace")
