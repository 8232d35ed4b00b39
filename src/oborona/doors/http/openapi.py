"""The OpenAPI description of /v1, written from the types that requests are decoded by and answers
are made of.

Source: OpenAPI Specification 3.1.0.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from oborona.doors.http.envelopes import MAX_VALUE
from oborona.doors.http.logins import ALLOW, LOGINS, REPORT, LoginAnswer, LoginRequest
from oborona.doors.http.model import (
    ErrorAnswer,
    GlanceRequest,
    HealthAnswer,
    ScanRequest,
    VerdictAnswer,
)
from oborona.doors.http.openapi_accounts import ACCOUNT_TYPES, account_paths
from oborona.doors.http.openapi_events import EVENT_TYPES, event_paths
from oborona.doors.http.openapi_parts import SCHEMAS, TROUBLE, asked, ref, response, troubles

VERSION: Final = "1.0"  # of /v1, whatever Oborona's is
_TYPES: Final = (
    GlanceRequest,
    ScanRequest,
    HealthAnswer,
    VerdictAnswer,
    ErrorAnswer,
    LoginRequest,
    LoginAnswer,
    *ACCOUNT_TYPES,
    *EVENT_TYPES,
)
_HEADERS: Final = (
    ("IP", "Address of the SMTP client. None: mail of this machine itself.", False),
    ("Hostname", "Its verified host name.", False),
    ("Helo", "As it named itself.", False),
    ("From", "MAIL FROM. None: a bounce.", False),
    ("Rcpt", "One RCPT TO; the header comes again for each.", True),
    ("User", "Who logged in.", False),
    ("Queue-Id", "Of the mail server, for the log.", False),
)


def document() -> str:
    """Return docs/mail-servers/openapi.json, which GET /v1/openapi.json answers."""
    return json.dumps(description(), indent=1, ensure_ascii=False) + "\n"


def description() -> dict[str, Any]:
    """Return the description as OpenAPI has it."""
    _, components = msgspec.json.schema_components(_TYPES, ref_template=f"{SCHEMAS}{{name}}")
    for schema in components.values():
        schema["description"] = " ".join(schema["description"].split())  # docstrings are wrapped
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Oborona",
            "version": VERSION,
            "summary": "Asks whether a message is spam, as the mail server would.",
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {"password": []}, {}],
        "paths": {
            "/v1/scan": {
                "post": {
                    "operationId": "scan",
                    "summary": "Judge a message; it counts, as one that the milter sees.",
                    "parameters": [_header(*header) for header in _HEADERS],
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json": {"schema": ref(ScanRequest)},
                            "message/rfc822": {},
                        },
                    },
                    "responses": _judged(VerdictAnswer, "The verdict."),
                }
            },
            "/v1/glance": {
                "post": {
                    "operationId": "glance",
                    "summary": "Judge a client, a sender or a recipient before there is a message.",
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": ref(GlanceRequest)}},
                    },
                    "responses": _judged(VerdictAnswer, "The verdict."),
                }
            },
            LOGINS: {
                "post": {
                    "operationId": "logins",
                    "summary": "Ask whether somebody may log in, or report that he could not, as "
                    "Dovecot does.",
                    "parameters": [
                        asked("command", {"type": "string", "enum": [ALLOW, REPORT]}, "Which.")
                    ],
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": ref(LoginRequest)}},
                    },
                    "responses": _judged(LoginAnswer, "Whether he may."),
                }
            },
            **account_paths(),
            **event_paths(),
            "/v1/health": {
                "get": {
                    "operationId": "health",
                    "summary": "Tell whether this is served.",
                    "security": [],
                    "responses": {"200": response(HealthAnswer, "It is.")},
                }
            },
        },
        "components": {
            # in which tuples are lists
            "schemas": msgspec.json.decode(msgspec.json.encode(components)),
            "responses": {
                str(status): response(ErrorAnswer, why) for status, why in TROUBLE.items()
            },
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "password": {"type": "apiKey", "in": "header", "name": "Password"},
            },
        },
    }


def _header(name: str, meaning: str, repeated: bool) -> dict[str, Any]:
    value: dict[str, Any] = {"type": "string", "maxLength": MAX_VALUE}
    return {
        "name": name,
        "in": "header",
        "description": f"{meaning} For message/rfc822.",
        "schema": {"type": "array", "items": value} if repeated else value,
    }


def _judged(kind: type, meaning: str) -> dict[str, Any]:
    return {"200": response(kind, meaning)} | troubles(400, 401, 413, 415, 429, 503)
