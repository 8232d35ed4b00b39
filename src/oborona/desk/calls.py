"""All asks and acts: importing this module declares them."""

from oborona.desk.asks import messages as messages  # noqa: PLC0414 - so that it counts as used
from oborona.desk.asks import uploads as uploads  # noqa: PLC0414
