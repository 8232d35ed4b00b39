"""All calls of the desk: each module that declares some is imported here."""

from __future__ import annotations

import oborona.desk.acts.account_import
import oborona.desk.acts.accounts
import oborona.desk.acts.addresses
import oborona.desk.acts.alarm
import oborona.desk.acts.campaigns
import oborona.desk.acts.cases
import oborona.desk.acts.counters
import oborona.desk.acts.event_log_persons
import oborona.desk.acts.event_logs
import oborona.desk.acts.events
import oborona.desk.acts.export
import oborona.desk.acts.incident_report
import oborona.desk.acts.incidents
import oborona.desk.acts.keys
import oborona.desk.acts.lists
import oborona.desk.acts.model_base
import oborona.desk.acts.models
import oborona.desk.acts.outgoing
import oborona.desk.acts.own_digest
import oborona.desk.acts.own_lists
import oborona.desk.acts.own_words
import oborona.desk.acts.people
import oborona.desk.acts.personal
import oborona.desk.acts.personal_import
import oborona.desk.acts.personal_removal
import oborona.desk.acts.policy
import oborona.desk.acts.recheck
import oborona.desk.acts.reputation
import oborona.desk.acts.sessions
import oborona.desk.acts.set_apart_messages
import oborona.desk.acts.signatures
import oborona.desk.acts.teach
import oborona.desk.asks.accounts
import oborona.desk.asks.addresses
import oborona.desk.asks.antifraud
import oborona.desk.asks.audit
import oborona.desk.asks.campaigns
import oborona.desk.asks.charts
import oborona.desk.asks.counter_store
import oborona.desk.asks.counters
import oborona.desk.asks.doctor
import oborona.desk.asks.event_log_persons
import oborona.desk.asks.event_logs
import oborona.desk.asks.events
import oborona.desk.asks.flows
import oborona.desk.asks.incidents
import oborona.desk.asks.limits
import oborona.desk.asks.lists
import oborona.desk.asks.messages
import oborona.desk.asks.metrics
import oborona.desk.asks.model_weights
import oborona.desk.asks.models
import oborona.desk.asks.outgoing
import oborona.desk.asks.overview
import oborona.desk.asks.people
import oborona.desk.asks.personal
import oborona.desk.asks.policy
import oborona.desk.asks.readers
import oborona.desk.asks.recheck
import oborona.desk.asks.reputation
import oborona.desk.asks.set_apart_messages
import oborona.desk.asks.signature_export
import oborona.desk.asks.signatures
import oborona.desk.asks.status
import oborona.desk.asks.uploads
from oborona.desk.call import CALLS

__all__ = ["CALLS"]
