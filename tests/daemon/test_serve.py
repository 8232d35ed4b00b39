"""What a service gives its transports: time for all that a session may wait for."""

from __future__ import annotations

import pytest

from oborona.config import WorkerSettings, load_settings
from oborona.doors.context import STAGES_AT_ONCE, guard_s, several_stages_guard_s
from oborona.errors import ConfigError
from oborona.policy.tables import SLOWEST_S

MOST_S = 20  # of worker.command_deadline_s
POSTFIX_MILTER_S = 30  # milter_command_timeout
POSTFIX_POLICY_S = 100  # smtpd_policy_service_timeout


@pytest.mark.parametrize("deadline_s", [5, 10, 290])
@pytest.mark.parametrize("command_deadline_s", [0.1, 5, MOST_S])
def test_a_transport_waits_longer_than_a_session_takes(
    command_deadline_s: float, deadline_s: float
) -> None:
    asked = WorkerSettings(command_deadline_s=command_deadline_s, deadline_s=deadline_s)
    assert guard_s(asked) > deadline_s
    assert guard_s(asked) > command_deadline_s + SLOWEST_S
    assert several_stages_guard_s(asked) > STAGES_AT_ONCE * command_deadline_s + SLOWEST_S


def test_postfix_waits_longer_than_any_command_may_take() -> None:
    load_settings(None, {"worker.command_deadline_s": str(MOST_S)})
    with pytest.raises(ConfigError):
        load_settings(None, {"worker.command_deadline_s": str(MOST_S + 0.1)})
    assert MOST_S + SLOWEST_S < POSTFIX_MILTER_S
    assert several_stages_guard_s(WorkerSettings(command_deadline_s=MOST_S)) < POSTFIX_POLICY_S
