"""Oborona: an anti-spam policy daemon for Postfix and Exim."""

import os
from importlib.metadata import version

# numpy's linear algebra starts a thread for each core when it is imported.  We never call it, and a
# process with threads can't fork safely.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = version("oborona")
