"""Where an address is: the records of databases in MaxMind's format, whoever made them, read into
one form.

    GeoIP2, GeoLite2, DB-IP    country.iso_code, else registered_country.iso_code;
                               autonomous_system_number, autonomous_system_organization, in some
                               under traits
    IPinfo                     country_code, or country with two letters; asn ("AS64496"), as_name
                               or name
    others                     country_code; asn as a number

Nothing is asked of whoever sells them: a record that says nothing in one of these ways says
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from oborona.types import Location

NOWHERE: Final = Location()
MAX_AS: Final = (1 << 32) - 1  # RFC 6793
MAX_NAME: Final = 100  # characters of an autonomous system's name: for people

_CODE: Final = re.compile(r"[A-Za-z]{2}")
_NUMBER: Final = re.compile(r"(?:AS)?([0-9]{1,10})", re.IGNORECASE)


class NoGeoIp:
    """Places of a site without databases."""

    def find(self, ip: str) -> Location:
        """Know nothing."""
        return NOWHERE


def country(record: object) -> str:
    """Return the country of a record in two capital letters (ISO 3166-1), empty when it names
    none.
    """
    if not isinstance(record, Mapping):
        return ""
    for key in ("country_code", "country", "registered_country"):
        entry = record.get(key)
        if isinstance(entry, Mapping):
            entry = entry.get("iso_code")
        if isinstance(entry, str) and _CODE.fullmatch(entry):
            return entry.upper()
    return ""


def autonomous_system(record: object) -> tuple[int, str]:
    """Return number and name of a record's autonomous system, 0 and empty when it names none."""
    if not isinstance(record, Mapping):
        return 0, ""
    traits = record.get("traits")
    for fields in (record, traits if isinstance(traits, Mapping) else {}):
        number = _number(_first(fields, "autonomous_system_number", "asn"))
        if number:
            name = _first(fields, "autonomous_system_organization", "as_name", "name")
            return number, _printable(name) if isinstance(name, str) else ""
    return 0, ""


def _first(fields: Mapping[Any, object], *names: str) -> object:
    return next((fields[name] for name in names if name in fields), None)


def _number(field: object) -> int:
    if isinstance(field, str):
        match = _NUMBER.fullmatch(field)
        field = int(match[1]) if match else 0
    return field if isinstance(field, int) and 0 < field <= MAX_AS else 0


def _printable(name: str) -> str:
    return "".join(letter for letter in name[:MAX_NAME] if letter.isprintable()).strip()
