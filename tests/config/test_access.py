"""Who may reach a listener is said before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.config import load_settings
from oborona.config.access import open_listeners
from oborona.errors import ConfigError

DOORS = ("milter", "policy_service", "exim", "spamd", "http", "delivery")
LISTENERS = (
    *(f"doors.{name}.listen" for name in DOORS),
    "intake.listen",
    "intake.http_listen",
    "intake.mail_listen",
    "metrics.listen",
)
FAR = ("inet:8891@0.0.0.0", "inet6:8891@::", "inet:192.0.2.1:8891", "inet:mx.example:8891")
NEAR = (
    "inet:8891@127.0.0.1",
    "inet:127.9.9.9:8891",
    "inet6:8891@::1",
    "inet:localhost:8891",
    "unix:/run/x.sock",
)


@pytest.mark.parametrize("listen", FAR)
@pytest.mark.parametrize("setting", LISTENERS)
def test_what_others_reach_names_who_may_connect(setting: str, listen: str) -> None:
    section = setting.rpartition(".")[0]
    with pytest.raises(
        ConfigError, match=rf"{setting} = .* name who may connect with {section}\.allowed"
    ):
        load_settings(None, {setting: listen})
    load_settings(None, {setting: listen, f"{section}.allowed": "192.0.2.0/24 2001:db8::/32"})


@pytest.mark.parametrize("listen", NEAR)
@pytest.mark.parametrize("setting", LISTENERS)
def test_what_this_machine_alone_reaches_needs_no_more(setting: str, listen: str) -> None:
    load_settings(None, {setting: listen})


def test_the_proxy_is_for_everybody_as_it_ships() -> None:
    load_settings(None, {"doors.proxy.listen": "inet:25@0.0.0.0"})
    with pytest.raises(ConfigError, match=r"doors\.proxy\.allowed"):
        load_settings(None, {"doors.proxy.listen": "inet:25@0.0.0.0", "doors.proxy.allowed": ""})


def test_keys_stand_in_for_networks_and_networks_must_be_some() -> None:
    load_settings(None, {"doors.http.listen": FAR[0], "doors.http.keys_file": "/etc/oborona/keys"})
    load_settings(
        None, {"intake.http_listen": FAR[0], "intake.http_token_file": "/etc/oborona/tokens"}
    )
    load_settings(None, {"metrics.listen": FAR[0], "metrics.token_file": "/etc/oborona/tokens"})
    with pytest.raises(ConfigError, match="is no network"):
        load_settings(None, {"doors.milter.listen": FAR[0], "doors.milter.allowed": "everybody"})


def test_a_transport_that_does_not_see_who_connects_is_for_this_machine() -> None:
    far = {
        "doors.milter.listen": FAR[0],
        "doors.milter.allowed": "192.0.2.0/24",
        "doors.milter.transport": "libmilter",
    }
    with pytest.raises(ConfigError, match="does not see who connects"):
        load_settings(None, far)
    load_settings(None, far | {"doors.milter.listen": NEAR[0]})


def test_the_place_is_told(tmp_path: Path) -> None:
    file = tmp_path / "oborona.toml"
    file.write_text('[doors.milter]\nlisten = "inet:8890@0.0.0.0"\n')
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    assert (caught.value.line, str(file) in str(caught.value)) == (2, True)


def test_all_listeners_are_looked_at() -> None:
    """A section that gets a `listen` gets the rule with it."""
    near = dict.fromkeys((*LISTENERS, "doors.proxy.listen"), "inet:1@127.0.0.1")
    settings = load_settings(None, near).settings
    assert {one.setting for one in open_listeners(settings)} == set(near)
    assert {f"doors.{name}.listen" for name in settings.doors.__struct_fields__} <= set(near)


def test_a_setting_that_moved_says_where(tmp_path: Path) -> None:
    file = tmp_path / "oborona.toml"
    file.write_text("[doors.http]\nmax_bodies_bytes = 1000000\n")
    moved = r"doors\.http\.max_bodies_bytes is worker\.max_bodies_bytes now"
    with pytest.raises(ConfigError, match=moved) as caught:
        load_settings(file)
    assert caught.value.line == 2


def test_the_room_holds_a_message() -> None:
    with pytest.raises(ConfigError, match=r"must be at least twice worker\.max_message_bytes"):
        load_settings(None, {"worker.max_bodies_bytes": "1000000"})
    load_settings(
        None, {"worker.max_bodies_bytes": "1000000", "worker.max_message_bytes": "500000"}
    )
