"""Settings from file and command line: order, origins, paths, and what is refused."""

import math
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oborona.config import COMMAND_LINE, DEFAULT, SECTIONS, InetAddress, Settings, load_settings
from oborona.errors import ConfigError
from oborona.toml import allowed, hints


def write(folder: Path, text: str) -> Path:
    path = folder / "oborona.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_file_and_command_line_the_schema_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load_settings(None)
    assert loaded.settings.doors.milter == Settings().doors.milter
    assert loaded.settings.paths.state == "/var/lib/oborona"
    assert loaded.settings.paths.policy == str(tmp_path / "policy.d")
    assert set(loaded.origins.values()) == {DEFAULT}
    assert loaded.settings.doors.milter.address == InetAddress("127.0.0.1", 8890)
    assert loaded.settings.doors.milter.mode == 0o660


def test_the_command_line_wins_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    path = write(tmp_path, "[worker]\nprocesses = 3\ndrain_s = 1\n\n[log]\nlevel = 'debug'\n")
    loaded = load_settings(path, {"worker.processes": "5", "counters.flush_s": "0.5"})
    assert (loaded.settings.worker.processes, loaded.settings.worker.drain_s) == (5, 1.0)
    assert (loaded.settings.counters.flush_s, loaded.settings.log.level) == (0.5, "debug")
    assert loaded.origins["worker.processes"] == COMMAND_LINE
    assert loaded.origins["worker.drain_s"] == f"{path}:3"
    assert loaded.origins["log.level"] == f"{path}:6"
    assert loaded.origins["log.format"] == DEFAULT
    assert loaded.file == path


def test_relative_paths_count_from_where_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    path = write(tmp_path, '[paths]\nstate = "state"\n')
    loaded = load_settings(path)
    assert loaded.settings.paths.state == str(tmp_path / "state")
    assert loaded.settings.paths.policy == str(tmp_path / "policy.d")
    assert load_settings(path, {"paths.state": "var"}).settings.paths.state == str(
        elsewhere / "var"
    )
    assert load_settings(Path("../oborona.toml")).settings.paths.state.endswith("/state")
    assert load_settings(path, {"paths.state": "/srv/x"}).settings.paths.state == "/srv/x"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("worker.process", "1", 'unknown setting "worker.process"; did you mean worker.processes?'),
        ("workers", "1", 'unknown setting "workers"'),
        (
            "worker.processes",
            "many",
            'worker.processes = "many": not allowed; a whole number, 0 to 256',
        ),
        ("worker.processes", "-1", "not allowed; a whole number, 0 to 256"),
        ("worker.processes", "", "not allowed; a whole number, 0 to 256"),
        ("worker.deadline_s", "nan", "not allowed; a number, 0.1 to 290"),
        ("worker.deadline_s", "inf", "not allowed; a number, 0.1 to 290"),
        ("worker.on_failure", "reject", 'not allowed; one of "accept", "tempfail"'),
        (
            "doors.milter.listen",
            "tcp:80",
            "no address to listen on; write unix:/run/oborona/milter.sock",
        ),
        ("doors.milter.socket_mode", "888", "three octal digits"),
        ("site.name", "a b", 'a host name, or ""'),
        ("site.contact", "see\r\nX: y", "a URL or mail address"),
        ("paths.state", "a\0b", "a path"),
        ("paths.state", "", "a path"),
    ],
)
def test_a_bad_command_line_is_refused(name: str, value: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_settings(None, {name: value})
    assert str(refused.value).startswith("command line: ")
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("overrides", "left", "right"),
    [
        ({"dns.message_s": "5"}, "dns.message_s = 5 (command line)", "worker.command_deadline_s = 5 (default)"),
        ({"dns.message_s": "12", "worker.command_deadline_s": "15"}, "12 (command line)", "worker.deadline_s = 10"),
        ({"worker.command_deadline_s": "4"}, "dns.message_s = 4 (default)", "command_deadline_s = 4 (command line)"),
        ({"worker.deadline_s": "0.1"}, "dns.message_s = 4 (default)", "worker.deadline_s = 0.1 (command line)"),
    ],
)  # fmt: skip
def test_nothing_may_wait_longer_for_the_dns_than_a_verdict_may_take(
    overrides: dict[str, str], left: str, right: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        load_settings(None, overrides)
    assert f"{left} must be less than " in str(refused.value)
    assert right in str(refused.value)


def test_who_computes_what_a_message_may_take_is_not_taken_for_hanging() -> None:
    with pytest.raises(ConfigError) as refused:
        load_settings(None, {"worker.scan_cpu_s": "8"})
    words = (
        "twice worker.scan_cpu_s = 8 (command line) must be less than worker.hung_s = 15 (default)"
    )
    assert words in str(refused.value)
    assert (
        load_settings(
            None, {"worker.scan_cpu_s": "8", "worker.hung_s": "17"}
        ).settings.worker.hung_s
        == 17
    )


def test_a_wait_that_is_too_long_by_the_file_can_be_mended_on_the_command_line(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "[dns]\nmessage_s = 7\n")
    with pytest.raises(ConfigError) as refused:
        load_settings(path)
    assert (refused.value.file, refused.value.line) == (str(path), 2)
    assert load_settings(path, {"worker.command_deadline_s": "7.5"}).settings.dns.message_s == 7
    assert load_settings(path, {"dns.message_s": "0"}).settings.dns.message_s == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=100)
    | st.lists(
        st.sampled_from(
            ["[worker]\n", "[log]\n", "[[worker]]\n", "[doors]\n", "doors = 1\n", "[doors.milter]\n", "[doors.milter.listen]\n", "processes = 2\n", "processes = 0xfffffffffffffffffffff\n", "level = 'info'\n",
             "listen = 'unix:'\n", "listen = 'inet:99999@x'\n", "deadline_s = -inf\n", "worker.drain_s = 1e400\n", "log = {format = 'json'}\n", "'' = 1\n"]
        ),
        max_size=6,
    ).map(lambda lines: "".join(lines).encode())
)  # fmt: skip
def test_any_bytes_are_settings_or_refused_with_their_file(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "oborona.toml"
    path.write_bytes(raw)
    try:
        load_settings(path)
    except ConfigError as error:
        refused = error
    else:
        return
    assert refused.file == str(path)


@given(
    st.sampled_from(
        [f"{section}.{key}" for section, schema in SECTIONS.items() for key in hints(schema)]
    ),
    st.text(max_size=20),
)
def test_any_text_on_the_command_line_is_taken_or_refused(name: str, text: str) -> None:
    try:
        value: Any = attrgetter(name)(load_settings(None, {name: text}).settings)
    except ConfigError:
        return
    assert not isinstance(value, float) or math.isfinite(value)


@pytest.mark.parametrize(("section", "schema"), SECTIONS.items())
def test_every_setting_says_what_it_means_and_what_is_allowed(
    section: str, schema: type[msgspec.Struct]
) -> None:
    assert isinstance(attrgetter(section)(Settings()), schema)
    assert (schema.__doc__ or "").rstrip().endswith(".")
    for key, annotation in hints(schema).items():
        assert next(meta.description for meta in annotation.__metadata__).endswith("."), key
        assert allowed(annotation) not in (
            "a text",
            "another type",
            "a number",
            "a whole number",
        ), key


@pytest.mark.parametrize("section", SECTIONS)
def test_every_default_is_allowed(section: str) -> None:
    defaults = attrgetter(section)(Settings())
    for key in hints(SECTIONS[section]):
        load_settings(None, {f"{section}.{key}": str(getattr(defaults, key))})
