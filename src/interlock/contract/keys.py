"""The keys of a native contract, one table: the reader, the schema and the reference use it."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """A key's meaning, and the shape of its value in the words of the schema."""

    shape: str
    meaning: str


CONTRACT = {
    "contract": Key("name", "The contract's name."),
    "version": Key("version", "Its version: a whole number, or numbers with dots. Default 1."),
    "text": Key("text", "What it models, in a sentence."),
    "context": Key("fields", "The only data a step may change, each field with type and default."),
    "events": Key("events", "The events it answers to, each with its payload's fields."),
    "codes": Key("numbers", "Numeric codes by which events may also be named."),
    "states": Key("states", "The states; the first is the initial one."),
    "initial": Key("name", "The initial state, where it is not the first."),
    "any": Key("rows_by_event", "Rows of every state without an end; a state's own rows win."),
    "begins": Key("names", "Events that may begin a new generation of an ended entity."),
    "counters": Key("counters", "Counters that events raise, bound and reset."),
    "params": Key("params", "Named parameter sets that hooks and rules refer to."),
    "touched": Key("names", "The fields that `touch` rows may set."),
    "indexed": Key("names", "The context fields that queries may search by."),
    "on_error": Key("name", "The event raised when `set` or `with` cannot be evaluated."),
    "payload": Key("payload", "`merge` lays each payload over the context before guards."),
    "strict": Key("flag", "A guard on an absent field refuses with GUARD_FIELD_UNDEFINED."),
    "advance": Key("advance", "Who raises the success event of a hook plan."),
    "require_consumer": Key("flag", "Refuse events while no consumer is registered."),
    "ack_gate": Key("flag", "Refuse events while the newest step is not settled."),
    "keep_refused_first": Key("flag", "Create the instance though its first event is refused."),
    "two_step": Key("flag", "Log one row for each `always` hop."),
    "publish": Key("names", "Events whose steps are published as facts."),
    "migrate": Key("migrations", "How instances of older versions fit this one."),
    "tests": Key("tests", "Events to play and what must come out; `interlock check` runs them."),
}

STATE = {
    "enter": Key("effects", "Intents of every entry."),
    "exit": Key("effects", "Intents of every exit."),
    "after": Key("timers", "Deadlines of the stay, each raising an event or a notice."),
    "always": Key("always", "Rows taken at once, within the step that enters."),
    "end": Key("end", "The lifecycle ends here: `ok` or `error`."),
    "kind": Key("kind", "The state's part in the whole."),
    "recoverable": Key("flag", "Whether an error here can be mended by a retry."),
    "ignore": Key("names", "Events that are deliberately nothing here."),
    "hooks": Key("hooks", "Work items handed to consumers on entering."),
    "rules": Key("rules", "Parameter sets and next events told to consumers on entering."),
    "required": Key("names", "Data that must be there, checked by the validating effect."),
    "requirements": Key("texts", "Validation rules, checked by the validating effect."),
    "category": Key("text", "A label for queries and diagrams."),
    "text": Key("text", "What the state means."),
    "on": Key("rows_by_event", "The rows by event, for events named like a key."),
}

ROW = {
    "when": Key("expression", "The guard."),
    "else": Key("target", "The target when no row before it holds; `stay` stays."),
    "to": Key("target", "The target; naming the own state leaves and enters it."),
    "set": Key("expressions", "New values of context fields, all computed from the old ones."),
    "do": Key("effects", "Intents of this row."),
    "note": Key("texts", "Conditions that are evaluated and recorded but block nothing."),
    "priority": Key("number", "Higher is tried first."),
    "touch": Key("flag", "A heartbeat: sets only `touched` fields and is not logged."),
    "late": Key("late", "`accept`: a result of an earlier stay counts."),
    "restart": Key("restart", "`timer`: staying begins the stay's deadlines anew."),
    "as": Key("name", "The internal event an `always` row stands for."),
    "name": Key("name", "The row's name in logs."),
    "text": Key("text", "What the row means."),
}

EFFECT = {
    "do": Key("name", "The intent's name."),
    "with": Key("expressions", "Its payload."),
    "done": Key("name", "The event its success raises."),
    "failed": Key("name", "The event its failure raises."),
    "retry": Key("retry", "Attempts and the time for them, as in `5 in 2m`."),
    "timeout": Key("duration", "How long one attempt may take."),
    "cancel": Key("cancel", "`on_exit`: not wanted any more once the state is left."),
    "label": Key("text", "What it is called in diagrams and logs."),
}

TIMER = {
    "raise": Key("name", "The event."),
    "with": Key("expressions", "The event's payload, computed when the deadline comes."),
    "repeat": Key("flag", "Again after each firing."),
    "once": Key("flag", "Not armed again by a self-loop."),
    "notice": Key("text", "The notice of a deadline that raises no event."),
}

HOOK = {
    "route": Key("name", "The work item's name, by which consumers subscribe."),
    "type": Key("hook_type", "`gate` holds back later stages, `effect` does not."),
    "via": Key("name", "Only when entered by this event."),
    "on": Key("hook_on", "`enter` or `exit`."),
    "order": Key("number", "Its stage; stages are released one after another."),
    "group": Key("name", "Items of one group complete together."),
    "ack": Key("ack_mode", "`all` consumers must settle it, or `any` one."),
    "params": Key("names", "Parameter sets instead of the rule's."),
    "done": Key("name", "The event its success stands for."),
    "failed": Key("name", "The event its failure raises."),
    "not_before": Key("duration", "Held for so long after entering."),
    "deadline": Key("duration", "Given up after so long."),
    "send": Key("send", "`always`: also when the stage was decided without it."),
    "label": Key("text", "What it is called."),
}

RULE = {
    "via": Key("name", "Only when entered by this event; such a rule wins."),
    "params": Key("names", "Parameter sets told to consumers."),
    "done": Key("name", "The next event on success."),
    "failed": Key("name", "The next event on failure."),
}

COUNTER = {
    "max": Key("number", "Events under `up` are refused once it is reached."),
    "up": Key("names", "Events that raise it by one."),
    "reset": Key("names", "Events that set it to zero."),
}

MIGRATION = {
    "states": Key("names_by_name", "Old state to new state, where they differ."),
    "set": Key("expressions", "New values of context fields."),
}

TEST = {
    "name": Key("text", "What it shows."),
    "given": Key("given", "The state to begin in, under `state`, and context fields."),
    "events": Key("played", "The events, each a name or `{name: payload}`."),
    "expect": Key("name", "The state at the end."),
    "context": Key("data", "Context fields at the end."),
    "intents": Key("names", "The intents emitted, in order."),
    "outcomes": Key("texts", "`moved`, `stayed` or `refused:CODE` of each event."),
}

PLACES: dict[str, dict[str, Key]] = {
    "contract": CONTRACT,
    "state": STATE,
    "row": ROW,
    "effect": EFFECT,
    "timer": TIMER,
    "hook": HOOK,
    "rule": RULE,
    "counter": COUNTER,
    "migration": MIGRATION,
    "test": TEST,
}
