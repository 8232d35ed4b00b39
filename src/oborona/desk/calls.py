"""All calls of the desk: each module that declares some is imported here."""

from __future__ import annotations

from oborona.desk.call import CALLS

__all__ = ["CALLS"]
