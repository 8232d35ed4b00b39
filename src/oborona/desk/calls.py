"""All asks and acts: whoever imports this has them in `oborona.desk.call.CALLS`."""

from oborona.desk.acts import policy as _act_policy
from oborona.desk.asks import policy as _ask_policy
from oborona.desk.call import CALLS

__all__ = ["CALLS", "_act_policy", "_ask_policy"]
