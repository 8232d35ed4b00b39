"""Names of the rules of the system itself, which no policy has."""

from __future__ import annotations

from typing import Final

DUPLICATE: Final = "DUPLICATE"
ABNORMAL: Final = "ABNORMAL"
FRAUD_PERSON: Final = "FRAUD_PERSON"
"""The name on all rows of a day of a person who was caught in it."""
