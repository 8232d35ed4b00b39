"""What somebody is told who has shown who they are, and may not come in."""

from __future__ import annotations

from oborona.desk.call import CallError


class OutsideRefusedError(CallError):
    """They have no role here, or their name is somebody else's; the text says which."""

    status = 403
