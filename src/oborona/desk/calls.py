"""All calls: who imports this has each of them in `oborona.desk.call.CALLS`."""

from oborona.desk.acts import accounts as acts_accounts  # noqa: F401
from oborona.desk.acts import alarm as acts_alarm  # noqa: F401
from oborona.desk.acts import campaigns as acts_campaigns  # noqa: F401
from oborona.desk.acts import events as acts_events  # noqa: F401
from oborona.desk.acts import incidents as acts_incidents  # noqa: F401
from oborona.desk.acts import models as acts_models  # noqa: F401
from oborona.desk.acts import outgoing as acts_outgoing  # noqa: F401
from oborona.desk.acts import recheck as acts_recheck  # noqa: F401
from oborona.desk.acts import teach as acts_teach  # noqa: F401
from oborona.desk.asks import accounts as asks_accounts  # noqa: F401
from oborona.desk.asks import antifraud as asks_antifraud  # noqa: F401
from oborona.desk.asks import campaigns as asks_campaigns  # noqa: F401
from oborona.desk.asks import events as asks_events  # noqa: F401
from oborona.desk.asks import flows as asks_flows  # noqa: F401
from oborona.desk.asks import incidents as asks_incidents  # noqa: F401
from oborona.desk.asks import models as asks_models  # noqa: F401
from oborona.desk.asks import outgoing as asks_outgoing  # noqa: F401
from oborona.desk.asks import recheck as asks_recheck  # noqa: F401
