"""The key of the audit log."""

from __future__ import annotations

from pathlib import Path

from oborona import secret, state_files


def audit_key(state: Path) -> bytes:
    """Return the key of the audit log; empty where the site has no secret yet.

    Raises:
        StoreError: there is one that can't be used.
    """
    return secret.load(state).audit if (state / state_files.SECRET).exists() else b""
