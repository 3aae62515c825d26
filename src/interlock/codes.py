"""Every code that a refusal or a contract problem can carry, in one table each."""

from __future__ import annotations

from typing import Literal, NamedTuple

Phase = Literal["load", "step", "engine"]
Level = Literal["debug", "info", "warning", "error", "critical"]


class Code(NamedTuple):
    """What a code says: when it arises, how grave it is, and what to do."""

    phase: Phase
    level: Level
    meaning: str
    hint: str
    raised: bool = True


REFUSALS: dict[str, Code] = {
    "UNKNOWN_EVENT": Code(
        "step", "error", "The contract lists no such event.", "Check the event's name."
    ),
    "INVALID_TRANSITION": Code(
        "step",
        "error",
        "The current state has no row for the event.",
        "Look at the instance's state; the event may be late, or may not be for outside use.",
    ),
    "GUARD_FAILED": Code(
        "step",
        "warning",
        "Rows exist for the event, but no guard of theirs holds.",
        "The refusal lists the rows tried and the values their guards saw.",
    ),
    "GUARD_TYPE_ERROR": Code(
        "step",
        "error",
        "A guard met untyped data that its operator cannot work with.",
        "Send data of the type the guard expects, or declare the field's type.",
    ),
    "GUARD_FIELD_UNDEFINED": Code(
        "step",
        "warning",
        "In strict mode: a guard read a field that the context does not have.",
        "Fill the field before the event is sent.",
    ),
    "GUARD_EVALUATION_ERROR": Code(
        "step",
        "error",
        "A guard uses an operator that is not known when it is evaluated.",
        "Unknown operators are found at load, so no path raises this.",
        raised=False,
    ),
    "VALIDATION_ERROR": Code(
        "step",
        "error",
        "The payload or the context does not fit its declaration.",
        "Correct the data named in the message and send the event again.",
    ),
    "EVALUATION_ERROR": Code(
        "step",
        "error",
        "An expression has no value, as in a division by zero; nothing was applied.",
        "Guard the row against the values named in the message.",
    ),
    "UPDATE_TYPE": Code(
        "step",
        "error",
        "An update computed a value its field does not allow; nothing was applied.",
        "Correct the expression or widen the field's type.",
    ),
    "HOP_LIMIT": Code(
        "step",
        "error",
        "`always` rows led through more than 16 states in one step; nothing was applied.",
        "Break the cycle of `always` rows.",
    ),
    "STATE_MISMATCH": Code(
        "engine",
        "error",
        "The instance is not in the state the caller expected.",
        "Read the instance again and decide anew.",
        raised=False,
    ),
    "RETRY_EXHAUSTED": Code(
        "engine",
        "warning",
        "A retry was refused because its counter is at the maximum.",
        "An operator decides: reset by a new generation, or give up.",
        raised=False,
    ),
    "TIMEOUT_EXCEEDED": Code(
        "engine",
        "error",
        "A stay lasted longer than its time-out allows.",
        "Look at the effect that did not answer.",
        raised=False,
    ),
    "INTENT_EMISSION_FAILED": Code(
        "engine",
        "error",
        "An intent could not be emitted with its step.",
        "Look at the intent's payload and target.",
        raised=False,
    ),
    "INTENT_PAYLOAD_ERROR": Code(
        "engine",
        "error",
        "An intent's payload could not be built.",
        "Correct the expressions under `with`.",
        raised=False,
    ),
    "EFFECT_NOT_FOUND": Code(
        "engine",
        "critical",
        "Nobody serves the intent's route.",
        "Register a consumer for the route; the intent waits for it.",
        raised=False,
    ),
    "INTENT_SERIALIZATION_ERROR": Code(
        "engine",
        "error",
        "An intent's payload cannot be encoded.",
        "Keep payloads to JSON data.",
        raised=False,
    ),
    "INTERNAL_TRANSITION_ERROR": Code(
        "engine",
        "critical",
        "An `always` row could not be taken.",
        "The event named by `on_error` is raised instead; look into the contract.",
        raised=False,
    ),
    "GUARD_SYNTAX_ERROR": Code(
        "load",
        "critical",
        "A guard does not consist of exactly three tokens.",
        "Write `field operator value` with white space between them.",
    ),
    "GUARD_INVALID_FIELD": Code(
        "load",
        "critical",
        "A guard's field is not a plain identifier.",
        "Use ASCII letters, digits and underscores, not beginning with a digit.",
    ),
    "GUARD_INVALID_OPERATOR": Code(
        "load",
        "critical",
        "A guard's operator is not one of the fourteen.",
        "Use an operator of the guard reference.",
    ),
    "GUARD_INVALID_VALUE": Code(
        "load",
        "critical",
        "A guard's value is not a literal that its operator takes.",
        "Use true, false, a number, a bare word, a list, or a pattern after `matches`.",
    ),
}

PROBLEMS: dict[str, str] = {
    "unreadable": "The file is not there or cannot be opened.",
    "syntax": "The text is not YAML or JSON, or an expression or type in it cannot be read.",
    "too_large": "The file, its nesting or the number of its values is beyond the limits.",
    "unknown_key": "A key that means nothing at its place.",
    "bad_value": "A key whose value has the wrong shape.",
    "not_a_lifecycle": "The file is a contract of another kind: it routes, and has no states.",
    "no_states": "The contract has no states.",
    "duplicate_state": "Two states have the same name.",
    "duplicate_name": "Two transitions have the same name, or two events the same code.",
    "unknown_state": "A state is named that does not exist.",
    "unknown_event": "An event is named that the contract does not list.",
    "unknown_field": "A field is named that is not declared.",
    "unknown_param": "A parameter set is named that is not declared.",
    "type_error": "An expression or a value does not have the type its place needs.",
    "duplicate_transition": "Two rows of a state and event are the same.",
    "nondeterministic": "Two rows of a state and event can both be meant by the same data.",
    "shadowed_transition": "A row can never be taken, since one before it always is.",
    "partial_guards": "All rows of a state and event are guarded; some data is refused.",
    "transition_from_terminal": "A state with an end has a way out.",
    "unreachable_state": "No sequence of events leads to the state.",
    "isolated_state": "Nothing leads into the state or out of it.",
    "trap_state": "The state is not an end and has no way out.",
    "no_path_to_terminal": "No end can be reached from the state.",
    "endless_retry": "A cycle resets the counter that is meant to bound it.",
    "undeliverable_wait": "The state waits with neither a deadline nor an event from outside.",
    "always_cycle": "`always` rows can lead back to where they began without an event.",
    "kind_mismatch": "A state's kind contradicts its rows or the lists it stands in.",
    "unsupported_setting": "A setting asks for what the machine never does.",
    "setting_without_effect": "A setting that changes nothing here.",
    "test_failed": "A test of the contract did not come out as written.",
    "GUARD_SYNTAX_ERROR": REFUSALS["GUARD_SYNTAX_ERROR"].meaning,
    "GUARD_INVALID_FIELD": REFUSALS["GUARD_INVALID_FIELD"].meaning,
    "GUARD_INVALID_OPERATOR": REFUSALS["GUARD_INVALID_OPERATOR"].meaning,
    "GUARD_INVALID_VALUE": REFUSALS["GUARD_INVALID_VALUE"].meaning,
}
