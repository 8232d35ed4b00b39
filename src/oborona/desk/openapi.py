"""The OpenAPI description of the desk's calls, written from their declarations.

Source: OpenAPI Specification 3.1.0.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from oborona.desk.call import Call

VERSION: Final = "1.0"
_SCHEMAS: Final = "#/components/schemas/"
_TROUBLE: Final = {
    "401": "No token, or none that is known.",
    "403": "The caller has not the right, or sees a part of the site alone.",
    "404": "There is none, or it is beyond the caller's scope.",
    "409": "Another order had this key, or it was begun and has no end.",
    "422": "It can't be done as it was told.",
    "503": "A store is away, it took too long, or there is too much at once.",
}


def describe_calls(calls: Mapping[str, Call]) -> bytes:
    """Return the description as JSON."""
    return msgspec.json.format(msgspec.json.encode(description(calls)), indent=1) + b"\n"


def description(calls: Mapping[str, Call]) -> dict[str, Any]:
    """Return the description as OpenAPI has it."""
    types = [kind for call in calls.values() for kind in (call.asked, call.answer)]
    schemas, components = msgspec.json.schema_components(types, ref_template=f"{_SCHEMAS}{{name}}")
    paths = {
        f"/v1/{name}": {"post": _operation(call, schemas[2 * place], schemas[2 * place + 1])}
        for place, (name, call) in enumerate(calls.items())
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Oborona: asks and acts on a site",
            "version": VERSION,
            "summary": "What pages and commands ask and do, for programs.",
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": components,
        },
    }


def _operation(call: Call, asked: Any, answer: Any) -> dict[str, Any]:
    said = inspect.getdoc(call.function) or ""
    return {
        "operationId": call.name,
        "summary": " ".join(said.split("\n\n")[0].split()),
        "tags": ["acts" if call.acts else "asks", *sorted(call.needs)],
        "requestBody": {"required": True, "content": {"application/json": {"schema": asked}}},
        "responses": {
            "200": {
                "description": "Done." if call.acts else "What was asked for.",
                "content": {"application/json": {"schema": answer}},
            },
            **{status: {"description": meaning} for status, meaning in _TROUBLE.items()},
        },
    }
