"""The JSON Schema of native contracts, made from the table of keys."""

from __future__ import annotations

from typing import Any

import msgspec

from interlock.contract import keys
from interlock.contract.model import ACK_MODES, ADVANCERS, ENDS, HOOK_ON, STATE_KINDS

Schema = dict[str, Any]


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _map(values: Schema) -> Schema:
    return {"type": ["object", "null"], "additionalProperties": values}


def _one_or_many(value: Schema) -> Schema:
    return {"anyOf": [value, {"type": "array", "items": value}]}


_NAME: Schema = {"type": ["string", "integer"], "minLength": 1, "maxLength": 200}
_DURATION: Schema = {
    "type": "string",
    "pattern": r"^([0-9]+(ms|s|m|h|d|w))+$|^P",
    "examples": ["15m", "1h30m", "P2D"],
}
_EXPRESSION: Schema = {"type": ["string", "number", "boolean", "null", "array"]}
_EFFECTS = _one_or_many({"anyOf": [_NAME, _ref("effect")]})
_ANSWER = {"anyOf": [_NAME, _ref("row")]}
_ROWS = _one_or_many(_ANSWER)
_PLAYED = {"anyOf": [_NAME, {"type": "object", "minProperties": 1, "maxProperties": 1}]}

SHAPES: dict[str, Schema] = {
    "name": _NAME,
    "text": {"type": ["string", "number"]},
    "version": {"type": ["string", "integer", "number"]},
    "flag": {"type": "boolean"},
    "number": {"type": "integer"},
    "duration": _DURATION,
    "expression": _EXPRESSION,
    "target": {**_NAME, "description": "A state, or `stay`."},
    "names": {"anyOf": [_NAME, {"type": "array", "items": _NAME}]},
    "texts": _one_or_many({"type": "string"}),
    "names_by_name": _map(_NAME),
    "numbers": _map({"type": "integer"}),
    "fields": _map({"type": "string", "examples": ["decimal = 0", "str | null", "list of int"]}),
    "events": {"anyOf": [{"type": "array", "items": _NAME}, _map(_ref("fields"))]},
    "states": _map({"anyOf": [{"type": "null"}, _ref("state")]}),
    "rows_by_event": _map(_ROWS),
    "always": _ROWS,
    "effects": _EFFECTS,
    "expressions": _map(_EXPRESSION),
    "timers": {
        **_map({"anyOf": [_NAME, {"type": "null"}, _ref("timer")]}),
        "propertyNames": {"pattern": _DURATION["pattern"]},
    },
    "hooks": {"type": "array", "items": {"anyOf": [_NAME, _ref("hook")]}},
    "rules": {"type": "array", "items": _ref("rule")},
    "counters": _map(_ref("counter")),
    "migrations": _map(_ref("migration")),
    "tests": {"type": "array", "items": _ref("test")},
    "params": {"type": ["object", "null"]},
    "data": {"type": ["object", "null"]},
    "given": {"type": ["object", "null"], "properties": {"state": _NAME}},
    "played": {"type": "array", "items": _PLAYED},
    "retry": {"type": ["string", "integer"], "pattern": "^[0-9]+( in .+)?$"},
    "payload": {"enum": ["merge", "keep"]},
    "advance": {"enum": list(ADVANCERS)},
    "end": {"enum": list(ENDS)},
    "kind": {"enum": list(STATE_KINDS)},
    "late": {"const": "accept"},
    "restart": {"const": "timer"},
    "cancel": {"const": "on_exit"},
    "send": {"const": "always"},
    "hook_type": {"enum": ["gate", "effect"]},
    "hook_on": {"enum": list(HOOK_ON)},
    "ack_mode": {"enum": list(ACK_MODES)},
}


def make_schema() -> Schema:
    """Return the schema as data."""
    definitions = {place: _object(place) for place in keys.PLACES if place != "contract"}
    definitions["fields"] = SHAPES["fields"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Interlock contract",
        "description": "A lifecycle: its states, events, guards, updates, effects and deadlines.",
        **_object("contract"),
        "required": ["contract", "states"],
        "$defs": definitions,
    }


def _object(place: str) -> Schema:
    """Return the schema of one place; a state's other keys are its events."""
    properties = {
        name: {**SHAPES[key.shape], "description": key.meaning}
        for name, key in keys.PLACES[place].items()
    }
    others: Schema | bool = _ROWS if place == "state" else False
    return {"type": "object", "properties": properties, "additionalProperties": others}


def write_schema() -> str:
    """Return the schema as JSON text."""
    text = msgspec.json.format(msgspec.json.encode(make_schema()), indent=2)
    return text.decode() + "\n"
