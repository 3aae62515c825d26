"""A short show in the terminal: the bundled contracts at work, refusals included."""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

from interlock.loading import examine
from interlock.session import Session, show_outcome
from interlock.show import paint, summary

PAUSE = 0.6


class Scene(NamedTuple):
    """A bundled contract and the events of a story worth seeing."""

    contract: str
    title: str
    events: tuple[str, ...]


SCENES = (
    Scene(
        "order",
        "An order: part payments, a declined card, and a cancellation that comes too late",
        (
            'add_item {"sku": "tea", "price": 12.50}',
            'pay {"amount": 5}',
            'pay {"amount": 7.50}',
            'declined {"code": "51"}',
            'charged {"ref": "ch-1"}',
            "packed",
            "cancel",
        ),
    ),
    Scene(
        "registration",
        "A node in two backends: Consul fails, only Consul is retried",
        (
            (
                'REGISTER {"payload": {"node_id": "n-1", "consul_service_id": "svc-1",'
                ' "consul_service_name": "billing", "consul_tags": ["v2"],'
                ' "postgres_record": {"node_id": "n-1"}}}'
            ),
            'VALIDATION_PASSED {"validation_result": "passed"}',
            'POSTGRES_SUCCEEDED {"postgres_applied": true}',
            'CONSUL_FAILED {"consul_applied": false}',
            "RETRY",
            'CONSUL_SUCCEEDED {"consul_applied": true}',
            "CONTINUE",
            "DEREGISTER",
            "DEREGISTRATION_COMPLETE",
        ),
    ),
    Scene(
        "handshake",
        "A node that is slow to acknowledge, becomes active, and falls silent",
        (
            "registration_accepted",
            "ack_sent",
            "timeout",
            "ack_received",
            'heartbeat {"emitted_at": "2026-01-01T00:00:10Z"}',
            "liveness_deadline_missed",
            "ack_received",
        ),
    ),
    Scene(
        "jobs",
        "A job: an attempt fails, the next one succeeds, and success is final",
        (
            "start",
            'fail {"error": "mail server refused"}',
            "start",
            "reschedule",
            "start",
            'succeed {"result": {"sent": 1}}',
            'fail {"error": "late"}',
        ),
    ),
)

EXPLORE = (
    ("interlock contracts", "the contracts that come with the package"),
    ("interlock simulate order", "play one yourself"),
    ("interlock diagram registration -o registration.svg", "see one"),
    ("interlock check registration-1.0.0", "what the checker finds in a specified machine"),
    ("interlock walk order", "the shortest event sequences that cover every row"),
    ("interlock diff registration-1.0.0 registration", "what a new version means"),
)


def show(*, seconds: float) -> None:
    """Play every scene within the time; without a terminal there are no pauses."""
    color = sys.stdout.isatty()
    events = sum(len(scene.events) for scene in SCENES)
    pause = min(PAUSE, max(0.0, seconds - 1) / events) if color else 0.0
    for scene in SCENES:
        _play(scene, pause=pause, color=color)
    print(paint("Go on exploring", "place", color=color))
    for command, about in EXPLORE:
        print(f"  {command:<54} {paint(about, 'faint', color=color)}")


def _play(scene: Scene, *, pause: float, color: bool) -> None:
    contract, problems = examine(scene.contract)[:2]
    if contract is None:
        raise AssertionError(f"the bundled contract {scene.contract} cannot be read")
    print(paint(scene.title, "place", color=color))
    print(summary(contract, problems, color=color))
    session = Session(contract, state=None, context=None)
    print(f"  begins in {paint(session.state, 'good', color=color)}")
    for event in scene.events:
        time.sleep(pause)
        shown = show_outcome(event, session.play(event), color=color)
        print("\n".join(f"  {line}" for line in shown.splitlines()), flush=True)
    print()
