"""What the parts of the OpenAPI description are made of."""

from __future__ import annotations

from typing import Any, Final

from oborona.doors.http.keyed_request import LONGEST_REPEAT_KEY, REPEAT_KEY

SCHEMAS: Final = "#/components/schemas/"
TROUBLE: Final = {
    400: "It is not what we know, or did not come whole.",
    401: "No key, or none that is known.",
    403: "The key has not the right to do it.",
    404: "There is none that the key is for, or this is not served.",
    409: "Another request had this Idempotency-Key.",
    413: "It is too large.",
    415: "Another type, or compressed.",
    429: "Too often; Retry-After has the seconds to wait.",
    503: "Too busy, or no verdict now: come again.",
}


def troubles(*statuses: int) -> dict[str, Any]:
    """Return the answers to what comes to nothing, by their statuses."""
    return {
        str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)
    }


def response(kind: Any, meaning: str) -> dict[str, Any]:
    """Return an answer of a type."""
    return {"description": meaning, "content": {"application/json": {"schema": ref(kind)}}}


def ref(kind: Any) -> dict[str, str]:
    """Return where a type is described."""
    return {"$ref": f"{SCHEMAS}{kind.__name__}"}


def asked(name: str, schema: dict[str, Any], meaning: str) -> dict[str, Any]:
    """Return a parameter behind the `?` of a path."""
    return {"name": name, "in": "query", "description": meaning, "schema": schema}


def in_path(name: str, schema: dict[str, Any], meaning: str) -> dict[str, Any]:
    """Return a part of a path."""
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": meaning,
        "schema": schema,
    }


def repeat_key(meaning: str) -> dict[str, Any]:
    """Return the header by which a request may come again."""
    return {
        "name": REPEAT_KEY,
        "in": "header",
        "description": meaning,
        "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_REPEAT_KEY},
    }
