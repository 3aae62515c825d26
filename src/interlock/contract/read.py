"""Reading a contract in whatever form it is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from interlock.contract.native.read import read_native
from interlock.contract.problem import Problem, problem
from interlock.contract.reading import Reading
from interlock.contract.source.read import MAX_BYTES, read_source

if TYPE_CHECKING:
    from interlock.contract.model import Contract
    from interlock.contract.source.node import Node

BUNDLED = Path(__file__).resolve().parent.parent / "contracts"
POLICY = "policy"
FSM_PLACES = ("fsm_subcontract", "state_machine", "state_transitions", "fsm")
ROUTING_KEYS = {"handler_routing", "consumed_events", "published_events", "execution_mode"}


class Source(NamedTuple):
    """A text and the name it is reported under."""

    text: str | bytes
    name: str


class Read(NamedTuple):
    """A contract as far as it could be read, and the problems found on the way."""

    contract: Contract | None
    problems: list[Problem]
    source: Source
    policy: Source | None = None


def bundled() -> list[str]:
    """Return the names of the contracts that come with the package."""
    return sorted(path.stem for path in BUNDLED.glob("*.yaml"))


def find_source(path_or_text: str | bytes | Path) -> Source | Problem:
    """Return the text meant: of a file, of a bundled contract's name, or the argument itself."""
    if isinstance(path_or_text, bytes):
        return Source(path_or_text, "text")
    if isinstance(path_or_text, str) and "\n" in path_or_text:
        return Source(path_or_text, "text")
    name = str(path_or_text)
    try:
        path = Path(name)
        if not path.is_file() and name in bundled():
            path = BUNDLED / f"{name}.yaml"
        with path.open("rb") as file:
            return Source(file.read(MAX_BYTES + 1), name)
    except (OSError, ValueError) as reason:
        if isinstance(path_or_text, str) and (":" in name or name.lstrip().startswith("{")):
            return Source(name, "text")
        cause = reason.strerror if isinstance(reason, OSError) and reason.strerror else reason
        return problem("unreadable", f"cannot read {name[:200]!r}: {cause}")


def read_contract(source: Source, *, policy: Source | None = None) -> Read:
    """Read a contract; what cannot be read is said in the problems."""
    root, problems = read_source(source.text)
    reading = Reading()
    reading.problems += problems
    contract = None if root is None else _read_root(root, reading, policy)
    return Read(contract, reading.problems, source, policy)


def _read_root(root: Node, reading: Reading, policy: Source | None) -> Contract | None:
    if not isinstance(root.value, dict):
        reading.wrong(root, "a contract: a mapping of keys and values", "")
        return None
    form = form_of(root.value)
    if policy is not None and form != "workflow":
        reading.report("bad_value", "only a workflow definition goes with a policy", at=root)
    match form:
        case "fsm":
            from interlock.contract.fsm.read import read_fsm  # only for this form

            return read_fsm(root, reading)
        case "workflow":
            from interlock.contract.workflow.read import read_workflow

            return read_workflow(root, reading, _read_policy(policy, reading))
        case "routing":
            reading.report(
                "not_a_lifecycle",
                "this contract routes messages and has no states",
                at=root,
                hint="lifecycles are contracts; routing is the registry's, in code",
            )
            return None
        case _:
            return read_native(root, reading)


def _read_policy(policy: Source | None, reading: Reading) -> Node | None:
    if policy is None:
        return None
    root, problems = read_source(policy.text)
    reading.problems += [msgspec.structs.replace(found, where=POLICY) for found in problems]
    return root


def form_of(top: dict[str, Node]) -> str:
    """Tell which form a contract is written in by its top-level keys."""
    states = top.get("states")
    if "contract" in top and not isinstance(top["contract"].value, dict):
        return "native"
    if any(key in top for key in FSM_PLACES):
        return "fsm"
    if "rules" in top or "policy_name" in top or "timeouts" in top:
        return "workflow"
    if states is not None and isinstance(states.value, list):
        entries = [item.value for item in states.value if isinstance(item.value, dict)]
        if any("state_name" in entry for entry in entries) or "fsm_version" in top:
            return "fsm"
        return "workflow"
    if ROUTING_KEYS & top.keys():
        return "routing"
    if "transitions" in top:
        return "fsm"
    return "workflow" if "definition" in top else "native"
