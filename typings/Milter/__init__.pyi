# pymilter's Python package, which re-exports the C extension; nothing else of it is used here.

from typing import Any

from milter import *  # noqa: F403

def uniqueID() -> int: ...  # noqa: N802
def __getattr__(name: str) -> Any: ...
