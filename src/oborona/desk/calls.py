"""All calls: who imports this has each of them in `oborona.desk.call.CALLS`."""

from oborona.desk.acts import events as acts_events  # noqa: F401
from oborona.desk.acts import recheck as acts_recheck  # noqa: F401
from oborona.desk.asks import events as asks_events  # noqa: F401
from oborona.desk.asks import recheck as asks_recheck  # noqa: F401
