"""A step of the machine beside a dict look-up loop and other libraries' machines."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import interlock
from bench.measure import Figure, best_of, show_figures, show_json, show_table
from interlock.contract.expression.values import decode_json, write_json
from interlock.contract.read import Source, read_contract
from interlock.contract.tables import read_context
from interlock.loading import examine

if TYPE_CHECKING:
    from collections.abc import Callable

LOOPS = 20_000
STATES = [f"s{number}" for number in range(6)]
RING = dict(zip(STATES, STATES[1:] + STATES[:1], strict=True))
SIX = (
    "contract: six\ncontext: {tries: int = 0, sum: int = 0}\n"
    "events: {next: {}, again: {}, add: {n: int}}\nstates:\n"
    + "".join(
        f"  {state}: {{next: {to}, again: "
        f"{{when: tries < 1000000000, to: {to}, set: {{tries: tries + 1}}}}, add: "
        f"{{when: sum + event.n < 1000000000, to: {to}, set: {{sum: sum + event.n}}}}}}\n"
        for state, to in RING.items()
    )
)
FSM_FORM = Path(__file__).parent.parent / "tests" / "data" / "fsm" / "registration.yaml"
SLOW = ("transitions", "python-statemachine", "xstate-statemachine")


def _dict_loop(count: int) -> None:
    table = {(state, "next"): to for state, to in RING.items()}
    state = "s0"
    for _ in range(count):
        state = table[state, "next"]


def _ours(event: object) -> Callable[[int], object]:
    contract = interlock.load(SIX)
    step = interlock.step

    def run(count: int) -> None:
        first = interlock.start(contract)
        state, context = first.state, first.context
        for _ in range(count):
            outcome = step(contract, state, context, event)
            state, context = outcome.state, outcome.context

    return run


def _ours_plain() -> Callable[[int], object]:
    contract = interlock.load(SIX)
    step = interlock.step

    def run(count: int) -> None:
        first = interlock.start(contract)
        state, context = first.state, first.context
        for _ in range(count):
            state = step(contract, state, context, "next").state  # type: ignore[arg-type]

    return run


def _ours_cold() -> Callable[[int], object]:
    """Step a context that was just read back from its stored form, reading not counted."""
    contract = interlock.load(SIX)
    step = interlock.step
    stored = write_json(interlock.start(contract).context)

    def run(count: int) -> None:
        state = "s0"
        cold = [read_context(contract, decode_json(stored)) for _ in range(64)]
        for number in range(count):
            state = step(contract, state, cold[number & 63], "next").state

    return run


def _automat() -> Callable[[int], object]:
    from automat import MethodicalMachine  # an extra

    class Six:
        machine = MethodicalMachine()

        @machine.input()
        def next(self) -> None: ...

        @machine.state(initial=True)
        def s0(self) -> None: ...

        @machine.state()
        def s1(self) -> None: ...

        @machine.state()
        def s2(self) -> None: ...

        @machine.state()
        def s3(self) -> None: ...

        @machine.state()
        def s4(self) -> None: ...

        @machine.state()
        def s5(self) -> None: ...

        s0.upon(next, enter=s1, outputs=[])
        s1.upon(next, enter=s2, outputs=[])
        s2.upon(next, enter=s3, outputs=[])
        s3.upon(next, enter=s4, outputs=[])
        s4.upon(next, enter=s5, outputs=[])
        s5.upon(next, enter=s0, outputs=[])

    def run(count: int) -> None:
        six = Six()
        for _ in range(count):
            six.next()

    return run


def _transitions() -> Callable[[int], object]:
    from transitions import Machine

    rows = [{"trigger": "next", "source": state, "dest": to} for state, to in RING.items()]
    machine: Any = Machine(states=STATES, transitions=rows, initial="s0", auto_transitions=False)

    def run(count: int) -> None:
        for _ in range(count):
            machine.next()

    return run


def _python_statemachine() -> Callable[[int], object]:
    from statemachine import State, StateMachine

    class Six(StateMachine):
        s0 = State(initial=True)
        s1, s2, s3, s4, s5 = State(), State(), State(), State(), State()
        next = s0.to(s1) | s1.to(s2) | s2.to(s3) | s3.to(s4) | s4.to(s5) | s5.to(s0)

    machine: Any = Six()

    def run(count: int) -> None:
        for _ in range(count):
            machine.next()

    return run


def _xstate_statemachine() -> Callable[[int], object]:
    from xstate_statemachine import (
        MachineLogic,
        SyncInterpreter,
        create_machine,
    )

    states = {state: {"on": {"next": to}} for state, to in RING.items()}
    config: Any = {"id": "six", "initial": "s0", "states": states}
    interpreter = SyncInterpreter(create_machine(config, logic=MachineLogic())).start()

    def run(count: int) -> None:
        for _ in range(count):
            interpreter.send("next")

    return run


PEERS: dict[str, tuple[str, Callable[[], Callable[[int], object]]]] = {
    "automat": ("automat", _automat),
    "transitions": ("transitions", _transitions),
    "python-statemachine": ("statemachine", _python_statemachine),
    "xstate-statemachine": ("xstate_statemachine", _xstate_statemachine),
}


def _candidates() -> dict[str, Callable[[int], object]]:
    found: dict[str, Callable[[int], object]] = {
        "dict look-up loop": _dict_loop,
        "interlock, plain step": _ours_plain(),
        "interlock, cold context": _ours_cold(),
        "interlock, guard and update": _ours("again"),
        "interlock, the same with a payload": _ours(interlock.Event("add", {"n": 1})),
    }
    for name, (module, make) in PEERS.items():
        if importlib.util.find_spec(module) is None:
            print(f"{name} is not installed: `make bench` installs it")
        else:
            found[name] = make()
    return found


def _load_milliseconds() -> dict[str, float]:
    text = FSM_FORM.read_text(encoding="utf-8")
    candidates: dict[str, Callable[[int], object]] = {
        "read": lambda count: [read_contract(Source(text, "registration")) for _ in range(count)],
        "load (read and check)": lambda count: [interlock.load(text) for _ in range(count)],
        "check (with warnings)": lambda count: [examine(text) for _ in range(count)],
    }
    return {name: best / 1e6 for name, best in best_of(candidates, loops=3).items()}


def _process_seconds(*arguments: str) -> float:
    """Return the user and system time of one command line in its best of several runs."""
    best = float("inf")
    for _ in range(7):
        before = os.times()
        command = [sys.executable, "-m", "interlock", *arguments]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)  # noqa: S603
        after = os.times()
        spent = after.children_user + after.children_system
        best = min(best, spent - before.children_user - before.children_system)
    return best


def main() -> None:
    """Measure, and print a table, the figures and JSON."""
    times = best_of(_candidates(), loops=LOOPS, slow=SLOW)
    base = times["dict look-up loop"]
    rows = [["one step of a 6-state machine", "ns", "x dict loop"]]
    rows += [[name, f"{time:.0f}", f"{time / base:.1f}"] for name, time in times.items()]
    show_table("Steps", rows)

    loads = _load_milliseconds()
    show_table(
        "The registration contract in its FSM form",
        [["", "ms"], *([name, f"{spent:.1f}"] for name, spent in loads.items())],
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "six.yaml"
        file.write_text(SIX, encoding="utf-8")
        starts = {
            "interlock --help": _process_seconds("--help"),
            "interlock check": _process_seconds("check", str(file)),
        }
    show_table(
        "Process time of a command",
        [["", "s"], *([name, f"{spent:.3f}"] for name, spent in starts.items())],
    )
    figures = _figures(times, loads, starts)
    show_figures(figures)
    show_json(
        "step",
        {
            "nanoseconds": times,
            "milliseconds": loads,
            "seconds": starts,
            "figures": [figure._asdict() | {"reached": figure.reached} for figure in figures],
        },
    )


def _figures(
    times: dict[str, float], loads: dict[str, float], starts: dict[str, float]
) -> list[Figure]:
    base, plain = times["dict look-up loop"], times["interlock, plain step"]
    figures = [
        Figure("plain step, times a dict look-up", plain / base, 4),
        Figure(
            "guard and update, times a dict look-up",
            times["interlock, guard and update"] / base,
            10,
        ),
        Figure("cold over hot", times["interlock, cold context"] / plain, 1.15),
        Figure("loading and checking the registration contract, ms", max(loads.values()), 20),
        *(Figure(f"{name}, s", spent, 0.25) for name, spent in starts.items()),
    ]
    for peer, wanted in (("automat", 5), ("transitions", 30)):
        if peer in times:
            figures.append(
                Figure(f"faster than {peer}, times", times[peer] / plain, wanted, at_most=False)
            )
    return figures
