"""The OpenAPI description of events."""

from __future__ import annotations

from typing import Any, Final

from oborona.doors.http.events_api import MOST_EVENTS, EventsAnswer
from oborona.doors.http.json_rows import JSON_LINES
from oborona.doors.http.openapi_parts import in_path, repeat_key, response, troubles

EVENT_TYPES: Final = (EventsAnswer,)


def event_paths() -> dict[str, Any]:
    """Return the paths that keys of events open."""
    return {
        "/v1/events/{log}": {
            "post": {
                "operationId": "events",
                "summary": "Send events into a log that is declared; what is answered with 200 is "
                "on the disk.",
                "security": [{"bearer": []}],
                "parameters": [
                    in_path("log", {"type": "string"}, "A log that the key writes."),
                    repeat_key("The same events with it are in the log once, within a day."),
                ],
                "requestBody": {
                    "required": True,
                    "description": "Objects with the columns that the log declares.",
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "array",
                                "maxItems": MOST_EVENTS,
                                "items": {"type": "object"},
                            }
                        }
                    }
                    | {kind: {} for kind in JSON_LINES},
                },
                "responses": {"200": response(EventsAnswer, "What is right of it is written.")}
                | troubles(400, 401, 404, 413, 415, 429, 503),
            }
        }
    }
