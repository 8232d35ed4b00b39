"""A settings file and the command line to settings, each with its origin.

Order: defaults of the schema, then the file, then the command line. There is no other source: no
environment, no includes. Whatever is not exactly right refuses the start, with the file, line and
column and what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from oborona.config.access import check_proxies, check_reach
from oborona.config.engines import EngineSettings, EnginesSettings
from oborona.config.settings import (
    GROUPS,
    NO_POLICY,
    PACKAGED_POLICY,
    SECTIONS,
    PathSettings,
    Settings,
)
from oborona.errors import ConfigError
from oborona.toml import TomlDocument, TomlPlace, convert, did_you_mean, hints, read, show, table

DEFAULT: Final = "default"
COMMAND_LINE: Final = "command line"
WAITS: Final = (
    ("dns.message_s", "worker.command_deadline_s", "a DNS"),
    ("dns.message_s", "worker.deadline_s", "a DNS"),
    *(
        (f"engines.{engine.name}.deadline_s", "worker.deadline_s", f"a {engine.name}")
        for engine in msgspec.structs.fields(EnginesSettings)
    ),
)
"""Settings of which the first must be less than the second, and who could take that long; an engine
only if it is asked.
"""

MOVED: Final = {"doors.http.max_bodies_bytes": "worker.max_bodies_bytes"}
"""Settings of earlier versions that stand elsewhere now: who upgrades is told where."""


class LoadedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings in force."""

    settings: Settings  # `paths` are absolute
    origins: Mapping[str, str]  # every "section.key" -> "default", "FILE:LINE" or "command line"
    file: Path | None


def load_settings(
    path: Path | None,
    overrides: Mapping[str, str] = MappingProxyType({}),
    *,
    beside: Path | None = None,
) -> LoadedSettings:
    """Return the settings in force.

    Args:
        path: the settings file; None means defaults alone.
        overrides: "section.key" -> value as text, as a command line gives it; wins over the file.
        beside: the file from whose folder relative paths of the file count; None = itself.

    Relative paths count from the folder of the file they stand in; those of the command line and of
    defaults without a file from the current folder.

    Raises:
        ConfigError: anything that is not exactly right, wherever it stands; nothing else.
    """
    values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    origins = {
        f"{section}.{key}": DEFAULT for section, schema in SECTIONS.items() for key in hints(schema)
    }
    places: dict[str, TomlPlace] = {}
    if path is not None:
        document, _ = read(path)
        places = _from_file(document, values)
        origins |= {name: str(place) for name, place in places.items()}
    folder = Path.cwd() if path is None else (beside or path).absolute().parent
    _from_command_line(overrides, values, origins)
    for key in hints(PathSettings):
        option = values["paths"].get(key, getattr(PathSettings(), key))
        if key == "shipped_policy" and option in (PACKAGED_POLICY, NO_POLICY):
            continue
        base = Path.cwd() if origins[f"paths.{key}"] == COMMAND_LINE else folder
        values["paths"][key] = str(base / option)
    settings = _settings(
        {section: schema(**values[section]) for section, schema in SECTIONS.items()}
    )
    _check_waits(settings, origins, places)
    _check_room(settings, origins, places)
    _check_hung(settings, origins, places)
    check_reach(settings, origins, places)
    check_proxies(settings, origins, places)
    return LoadedSettings(settings=settings, origins=origins, file=path)


def _check_waits(
    settings: Settings, origins: Mapping[str, str], places: Mapping[str, TomlPlace]
) -> None:
    """Refuse a wait that outlasts what waits for it.

    Args:
        settings: all of them.
        origins: of every setting.
        places: of those that the file gives.
    """
    for *pair, who in WAITS:
        less, more = (attrgetter(name)(settings) for name in pair)
        waited_for = attrgetter(pair[0].rpartition(".")[0])(settings)
        if less < more or (isinstance(waited_for, EngineSettings) and not waited_for.ask):
            continue
        left, right = (
            f"{name} = {value:g} ({origins[name]})"
            for name, value in zip(pair, (less, more), strict=True)
        )
        raise _refused(
            (
                f"{left} must be less than {right}: else {who} that does not answer leaves no "
                f"time for a verdict"
            ),
            pair,
            places,
        )


def _check_hung(
    settings: Settings, origins: Mapping[str, str], places: Mapping[str, TomlPlace]
) -> None:
    """Refuse to take a worker for hanging while it computes what one message may take, and the same
    for its head.
    """
    work = settings.worker
    if 2 * work.scan_cpu_s < work.hung_s:
        return
    names = ("worker.scan_cpu_s", "worker.hung_s")
    raise _refused(
        f"twice {names[0]} = {work.scan_cpu_s:g} ({origins[names[0]]}) must be less than "
        f"{names[1]} = {work.hung_s:g}"
        f" ({origins[names[1]]}): else a worker is killed over a message that is hard to read",
        names,
        places,
    )


def _check_room(
    settings: Settings, origins: Mapping[str, str], places: Mapping[str, TomlPlace]
) -> None:
    """Refuse a room that is too small for one message in base64."""
    work = settings.worker
    if work.max_bodies_bytes >= 2 * work.max_message_bytes:
        return
    names = ("worker.max_bodies_bytes", "worker.max_message_bytes")
    raise _refused(
        f"{names[0]} = {work.max_bodies_bytes} ({origins[names[0]]}) must be at least twice"
        f" {names[1]} = {work.max_message_bytes} ({origins[names[1]]})",
        names,
        places,
    )


def _refused(problem: str, names: Sequence[str], places: Mapping[str, TomlPlace]) -> ConfigError:
    """Return the error about some settings, where the first of them stands that the file gives; a
    default stands nowhere.
    """
    place = next((places[name] for name in names if name in places), TomlPlace())
    return ConfigError(problem, file=place.file, line=place.line, column=place.column)


def _from_file(document: TomlDocument, values: dict[str, dict[str, Any]]) -> dict[str, TomlPlace]:
    """Take a file's values; return where each stands."""
    places: dict[str, TomlPlace] = {}
    for path in _sections(document):
        section = ".".join(path)
        schema = SECTIONS.get(section)
        if schema is None:
            place = document.key(*path)
            guess = did_you_mean(section, SECTIONS)
            problem = f"unknown section {show(section)}{guess}"
            raise ConfigError(problem, file=place.file, line=place.line, column=place.column)
        _check_moved(document, path)
        for key, entry in table(document, path, schema, name=f"[{section}]").items():
            values[section][key] = entry.value
            places[f"{section}.{key}"] = entry.place
    return places


def _check_moved(document: TomlDocument, path: tuple[str, ...]) -> None:
    """Refuse a setting that stands elsewhere by now.

    Args:
        document: the file.
        path: of a section in it.
    """
    node: Any = document.data
    for part in path:
        node = node[part]
    for key in node if isinstance(node, Mapping) else ():
        name = ".".join((*path, key))
        if name in MOVED:
            place = document.key(*path, key)
            raise ConfigError(
                f"{name} is {MOVED[name]} now, and holds for all listeners; move it there",
                file=place.file,
                line=place.line,
                column=place.column,
            )


def _sections(document: TomlDocument) -> Iterator[tuple[str, ...]]:
    """Yield the path of each section of a file: of one of a group, such as `doors`, two names."""
    for name, content in document.data.items():
        if name not in GROUPS:
            yield (name,)
        elif isinstance(content, Mapping):
            yield from ((name, section) for section in content)
        else:
            place = document.value(name)
            raise ConfigError(
                f"[{name}] must be a table", file=place.file, line=place.line, column=place.column
            )


def _settings(sections: Mapping[str, Any]) -> Settings:
    """Put sections together, those of a group as one."""
    whole: dict[str, Any] = {}
    grouped: dict[str, dict[str, Any]] = {name: {} for name in GROUPS}
    for section, values in sections.items():
        group, dot, name = section.partition(".")
        if dot:
            grouped[group][name] = values
        else:
            whole[section] = values
    whole |= {name: GROUPS[name](**members) for name, members in grouped.items()}
    return Settings(**whole)


def _from_command_line(
    overrides: Mapping[str, str], values: dict[str, dict[str, Any]], origins: dict[str, str]
) -> None:
    for name, text in overrides.items():
        if name not in origins:
            raise ConfigError(
                f"{COMMAND_LINE}: unknown setting {show(name)}{did_you_mean(name, origins)}"
            )
        section, _, key = name.rpartition(".")
        try:
            values[section][key] = convert(text, hints(SECTIONS[section])[key], from_text=True)
        except ValueError as fault:
            raise ConfigError(f"{COMMAND_LINE}: {name} = {show(text)}: {fault}") from fault
        origins[name] = COMMAND_LINE
