"""How the stores that machines of a site have in common are opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from oborona import state_files
from oborona.accounts.store import schema as account_store
from oborona.feedback import schema as label_store
from oborona.feedback.cases import schema as case_store
from oborona.feedback.events import schema as event_log
from oborona.people import schema as people_store
from oborona.recheck import site_moves_schema
from oborona.sqlite_file import SqliteFileKind
from oborona.stores.persons import schema as person_store
from oborona.stores.pins import schema as pin_store
from oborona.stores.policy_versions import schema as policy_version_store
from oborona.stores.signatures import schema as signature_store
from oborona.stores.site_models import schema as site_model_store

COMMON_KINDS: Final[Mapping[str, SqliteFileKind]] = {
    state_files.PERSONS: person_store.SHARED,
    state_files.PINS: pin_store.SHARED,
    state_files.SIGNATURES: signature_store.SHARED,
    state_files.CASES: case_store.SHARED,
    state_files.PEOPLE: people_store.SHARED,
    state_files.POLICY_VERSIONS: policy_version_store.SHARED,
    state_files.SITE_MODELS: site_model_store.SHARED,
    state_files.EVENTS: event_log.SHARED,
    state_files.FEEDBACK: label_store.SHARED,
    state_files.ACCOUNTS: account_store.SHARED,
    state_files.SITE_MOVES: site_moves_schema.SHARED,
}
"""Kinds of the common stores, by the names of their files."""
