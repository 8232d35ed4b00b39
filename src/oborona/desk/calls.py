"""All calls of the desk: each module that declares some is imported here."""

from __future__ import annotations

import oborona.desk.acts.keys
import oborona.desk.acts.people
import oborona.desk.acts.policy
import oborona.desk.asks.people
import oborona.desk.asks.policy
from oborona.desk.call import CALLS

__all__ = ["CALLS"]
