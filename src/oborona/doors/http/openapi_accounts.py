"""The OpenAPI description of accounts, incidents and addresses."""

from __future__ import annotations

from typing import Any, Final

from oborona.accounts.account_orders import ORDERS
from oborona.accounts.account_view import AccountsPage, AccountView
from oborona.accounts.addresses.address_report import AddressView
from oborona.accounts.incidents.incident_view import IncidentsPage, IncidentView
from oborona.accounts.store.rows import DeedKind
from oborona.doors.http.account_orders import OrderAnswer, OrderRequest
from oborona.doors.http.incidents import STATES
from oborona.doors.http.json_rows import JSON_LINES
from oborona.doors.http.openapi_parts import asked, in_path, ref, repeat_key, response, troubles
from oborona.doors.http.query import MAX_PAGE, PAGE
from oborona.doors.http.registrations import MOST_REGISTRATIONS, RegistrationAnswer

ACCOUNT_TYPES: Final = (
    OrderRequest,
    OrderAnswer,
    RegistrationAnswer,
    AddressView,
    AccountView,
    AccountsPage,
    IncidentView,
    IncidentsPage,
)
_CUSTOMER: Final = ("customer", {"type": "string"}, "Only his.")
_LIMIT: Final = (
    "limit",
    {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": PAGE},
    "Rows of a page.",
)


def account_paths() -> dict[str, Any]:
    """Return the paths that keys of accounts open."""
    return {
        "/v1/accounts": {
            "get": _operation(
                "accounts",
                "List accounts that the key may read, in the order of their ids.",
                AccountsPage,
                asked(*_CUSTOMER),
                asked("after", {"type": "string"}, "`next` of the page before."),
                asked(*_LIMIT),
            ),
            "post": _registrations(),
        },
        "/v1/accounts/{login}": {
            "get": _operation("account", "Show an account.", AccountView, _LOGIN)
        },
        **{f"/v1/accounts/{{login}}/{what}": {"post": _order(what)} for what in ORDERS},
        "/v1/addresses/{address}": {
            "get": _operation(
                "address",
                "Tell whether an address is clean; DNS lists are asked at this moment.",
                AddressView,
                in_path("address", {"type": "string"}, "IPv4 or IPv6."),
            )
        },
        "/v1/incidents": {
            "get": _operation(
                "incidents",
                "List incidents of accounts that the key may read, the latest first.",
                IncidentsPage,
                asked("account", {"type": "string"}, "Id or login; only its."),
                asked(*_CUSTOMER),
                asked("state", {"type": "string", "enum": list(STATES)}, "Only those."),
                asked("before", {"type": "integer"}, "`next` of the page before."),
                asked(*_LIMIT),
            )
        },
        "/v1/incidents/{id}": {
            "get": _operation(
                "incident",
                "Show an incident.",
                IncidentView,
                in_path("id", {"type": "integer"}, "Of the incident."),
            )
        },
    }


def _operation(name: str, summary: str, kind: type, *parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what reads."""
    return {
        "operationId": name,
        "summary": summary,
        "security": [{"bearer": []}],
        "parameters": list(parameters),
        "responses": {"200": response(kind, "It is here.")}
        | troubles(400, 401, 403, 404, 429, 503),
    }


def _order(what: DeedKind) -> dict[str, Any]:
    return {
        "operationId": what.value,
        "summary": f"What `oborona account {what}` does; by a key that may act.",
        "security": [{"bearer": []}],
        "parameters": [_LOGIN, _REPEAT_KEY],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": ref(OrderRequest)}},
        },
        "responses": {"200": response(OrderAnswer, "It is done.")}
        | troubles(400, 401, 403, 404, 409, 413, 415, 429, 503),
    }


def _registrations() -> dict[str, Any]:
    return {
        "operationId": "register",
        "summary": "Tell accounts, as `oborona account import`; by a key of all customers that may "
        "act.",
        "security": [{"bearer": []}],
        "parameters": [_REPEAT_KEY],
        "requestBody": {
            "required": True,
            "description": "Accounts as docs/people/accounts.md has them.",
            "content": {
                "application/json": {
                    "schema": {
                        "type": "array",
                        "maxItems": MOST_REGISTRATIONS,
                        "items": {"type": "object"},
                    }
                }
            }
            | {kind: {} for kind in JSON_LINES},
        },
        "responses": {"200": response(RegistrationAnswer, "What is right of it is written.")}
        | troubles(400, 401, 403, 404, 409, 413, 415, 429, 503),
    }


_LOGIN: Final = in_path("login", {"type": "string"}, "Id or login.")
_REPEAT_KEY: Final = repeat_key(
    "The same request with it does nothing within a day and is answered as before."
)
