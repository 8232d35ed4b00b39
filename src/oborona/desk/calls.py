"""All declarations of calls: who imports this has them in `oborona.desk.call.CALLS`."""
# ruff: noqa: F401 - importing declares

import oborona.desk.acts.counters
import oborona.desk.acts.lists
import oborona.desk.acts.personal
import oborona.desk.acts.reputation
import oborona.desk.acts.signatures
import oborona.desk.asks.counters
import oborona.desk.asks.lists
import oborona.desk.asks.personal
import oborona.desk.asks.reputation
import oborona.desk.asks.signatures
