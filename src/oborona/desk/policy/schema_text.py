"""The JSON schema of policy files."""

from __future__ import annotations

import msgspec

from oborona.policy.fact_table import SCHEMA
from oborona.policy.file_schema import file_schema


def schema_text() -> str:
    """Return it as the file that ships."""
    return msgspec.json.format(msgspec.json.encode(file_schema(SCHEMA)), indent=2).decode() + "\n"
