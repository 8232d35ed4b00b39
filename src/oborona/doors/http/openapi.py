"""The OpenAPI description of /v1, written from the types that requests are decoded by and answers
are made of.

Source: OpenAPI Specification 3.1.0.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from oborona.accounts.account_view import AccountsPage, AccountView
from oborona.doors.http.accounts import ACCOUNTS, MAX_PAGE, PAGE
from oborona.doors.http.envelopes import MAX_VALUE
from oborona.doors.http.logins import ALLOW, LOGINS, REPORT, LoginAnswer, LoginRequest
from oborona.doors.http.model import (
    ErrorAnswer,
    GlanceRequest,
    HealthAnswer,
    ScanRequest,
    VerdictAnswer,
)

VERSION: Final = "1.0"  # of /v1, whatever Oborona's is
_TYPES: Final = (
    GlanceRequest,
    ScanRequest,
    HealthAnswer,
    VerdictAnswer,
    ErrorAnswer,
    LoginRequest,
    LoginAnswer,
    AccountView,
    AccountsPage,
)
_AT: Final = "#/components/schemas/"
_TROUBLE: Final = {
    400: "It is not what we know, or did not come whole.",
    401: "No key, or none that is known.",
    404: "There is none that the key may read, or accounts are not served.",
    413: "It is too large.",
    415: "Another type, or compressed.",
    429: "Too often; Retry-After has the seconds to wait.",
    503: "Too busy, or no verdict now: come again.",
}
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
    _, components = msgspec.json.schema_components(_TYPES, ref_template=f"{_AT}{{name}}")
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
                            "application/json": {"schema": _ref(ScanRequest)},
                            "message/rfc822": {},
                        },
                    },
                    "responses": _responses(VerdictAnswer, "The verdict."),
                }
            },
            "/v1/glance": {
                "post": {
                    "operationId": "glance",
                    "summary": "Judge a client, a sender or a recipient before there is a message.",
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": _ref(GlanceRequest)}},
                    },
                    "responses": _responses(VerdictAnswer, "The verdict."),
                }
            },
            LOGINS: {
                "post": {
                    "operationId": "logins",
                    "summary": "Ask whether somebody may log in, or report that he could not, as "
                    "Dovecot does.",
                    "parameters": [
                        _asked("command", {"type": "string", "enum": [ALLOW, REPORT]}, "Which.")
                    ],
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": _ref(LoginRequest)}},
                    },
                    "responses": _responses(LoginAnswer, "Whether he may."),
                }
            },
            ACCOUNTS: {
                "get": {
                    "operationId": "accounts",
                    "summary": "List accounts that the key may read, in the order of their ids.",
                    "security": [{"bearer": []}],
                    "parameters": [
                        _asked("customer", {"type": "string"}, "Only his."),
                        _asked("after", {"type": "string"}, "`next` of the page before."),
                        _asked(
                            "limit",
                            {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": PAGE},
                            "Accounts of a page.",
                        ),
                    ],
                    "responses": _read_responses(AccountsPage, "A page of them."),
                }
            },
            f"{ACCOUNTS}/{{login}}": {
                "get": {
                    "operationId": "account",
                    "summary": "Show an account by its id or login.",
                    "security": [{"bearer": []}],
                    "parameters": [
                        {
                            "name": "login",
                            "in": "path",
                            "required": True,
                            "schema": {"type": "string"},
                        }
                    ],
                    "responses": _read_responses(AccountView, "The account."),
                }
            },
            "/v1/health": {
                "get": {
                    "operationId": "health",
                    "summary": "Tell whether this is served.",
                    "security": [],
                    "responses": {"200": _response(HealthAnswer, "It is.")},
                }
            },
        },
        "components": {
            # in which tuples are lists
            "schemas": msgspec.json.decode(msgspec.json.encode(components)),
            "responses": {
                str(status): _response(ErrorAnswer, why) for status, why in _TROUBLE.items()
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


def _responses(kind: type, meaning: str) -> dict[str, Any]:
    return {"200": _response(kind, meaning)} | _troubles(*(_TROUBLE.keys() - {404}))


def _read_responses(kind: type, meaning: str) -> dict[str, Any]:
    return {"200": _response(kind, meaning)} | _troubles(400, 401, 404, 429, 503)


def _troubles(*statuses: int) -> dict[str, Any]:
    return {
        str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)
    }


def _asked(name: str, schema: dict[str, Any], meaning: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": meaning, "schema": schema}


def _response(kind: type, meaning: str) -> dict[str, Any]:
    return {"description": meaning, "content": {"application/json": {"schema": _ref(kind)}}}


def _ref(kind: type) -> dict[str, str]:
    return {"$ref": f"{_AT}{kind.__name__}"}
