"""Who may use the HTTP door, said before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from oborona.config import load_settings
from oborona.doors.http.access_keys import access_keys
from oborona.errors import ConfigError


def settings(listen: str, file: str = "") -> dict[str, str]:
    return {"doors.milter.listen": "", "doors.http.listen": listen, "doors.http.keys_file": file}


@pytest.mark.parametrize(
    "listen", ["unix:/run/x.sock", "inet:8080@127.0.0.1", "inet:localhost:8080", "inet:[::1]:8080"]
)
def test_what_only_this_machine_reaches_needs_no_keys(listen: str) -> None:
    assert access_keys(load_settings(None, settings(listen)).settings.doors.http) is None


@pytest.mark.parametrize(
    "listen", ["inet:8080@0.0.0.0", "inet:192.0.2.1:8080", "inet:mx.example:8080"]
)
def test_what_others_reach_needs_them_or_names_who_may_ask(listen: str) -> None:
    with pytest.raises(ConfigError, match=r"doors\.http\.allowed, or doors\.http\.keys_file"):
        load_settings(None, settings(listen))
    named = settings(listen) | {"doors.http.allowed": "192.0.2.0/24"}
    assert access_keys(load_settings(None, named).settings.doors.http) is None


def test_a_file_of_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    found = settings("inet:8080@0.0.0.0", str(file))
    with pytest.raises(ConfigError, match="No such file"):
        access_keys(load_settings(None, found).settings.doors.http)
    file.write_text("0123456789abcdef\n")
    known = access_keys(load_settings(None, found).settings.doors.http)
    assert known is not None
    assert known.knows("0123456789abcdef")
