"""The policy that ships, loaded once for a test run."""

from __future__ import annotations

from functools import cache

from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from tests.peers.oborona import SETTINGS


@cache
def shipped() -> Policy:
    """Return it."""
    return load_policy(SETTINGS.parent / "policy.d", SCHEMA)
