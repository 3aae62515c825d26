from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import interlock
from interlock.contract.read import BUNDLED

GOOD = "contract: door\nevents: [push]\nstates:\n  shut: {push: open}\n  open: {end: ok}\n"
BAD = "contract: door\nevents: [push]\nstates:\n  shut: {push: opne}\n  open: {end: ok}\n"


def run(*arguments: str, stdin: str | bytes = b"") -> subprocess.CompletedProcess[bytes]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    command = [sys.executable, "-m", "interlock", *arguments]
    return subprocess.run(command, input=data, capture_output=True, check=False, timeout=120)


def answers(result: subprocess.CompletedProcess[bytes]) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def good(tmp_path: Path) -> str:
    (tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    return str(tmp_path / "good.yaml")


@pytest.fixture
def bad(tmp_path: Path) -> str:
    (tmp_path / "bad.yaml").write_text(BAD, encoding="utf-8")
    return str(tmp_path / "bad.yaml")


def test_a_good_contract_exits_with_zero(good: str) -> None:
    result = run("check", good)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.startswith(b"ok door 1: 2 states, 1 rows")


def test_warnings_alone_exit_with_zero() -> None:
    result = run("check", "registration-1.0.0", "--json")
    [report] = answers(result)
    assert result.returncode == 0
    assert report["ok"]
    assert {problem["severity"] for problem in report["problems"]} == {"warning"}


def test_a_report_counts_the_states_and_the_rows_as_written() -> None:
    [report] = answers(run("check", "registration-1.0.0", "--json"))
    assert (report["contract"], report["states"], report["rows"]) == ("registration", 10, 17)


def test_a_bad_contract_exits_with_one_and_shows_the_place(bad: str) -> None:
    result = run("check", bad)
    text = result.stdout.decode()
    assert result.returncode == 1
    assert "error[unknown_state]" in text
    assert "4 |   shut: {push: opne}" in text
    assert "did you mean 'open'?" in text


def test_a_report_has_every_field_of_a_problem(bad: str) -> None:
    result = run("check", bad, "--json")
    [report] = answers(result)
    assert (result.returncode, report["ok"]) == (1, False)
    assert set(report["problems"][0]) == {
        "code",
        "severity",
        "where",
        "line",
        "column",
        "message",
        "hint",
        "witness",
    }
    assert report["problems"][0]["line"] == 4


@pytest.mark.parametrize("name", ["no-such-file.yaml", ".", "bad\0name"])
def test_what_cannot_be_read_exits_with_two(name: str) -> None:
    if "\0" in name:
        assert interlock.check(name)[0].severity == "error"
        return
    result = run("check", name)
    assert result.returncode == 2
    assert b"cannot read" in result.stdout
    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b"\0" * 50, b"{" * 5000, b"- a\n- b\n"])
def test_any_bytes_as_a_contract_give_problems_and_no_traceback(
    tmp_path: Path, data: bytes
) -> None:
    file = tmp_path / "garbage.yaml"
    file.write_bytes(data)
    result = run("check", str(file))
    assert result.returncode == 1
    assert b"error[" in result.stdout
    assert b"Traceback" not in result.stderr


def test_guards_are_answered_line_by_line() -> None:
    lines = [
        '{"expr": "n < 3", "context": null}',
        '{"expr": "n < 3", "context": {"n": 2}}',
        '{"expr": "n<3", "context": null}',
        "not json",
    ]
    found = answers(run("guard", "--stdin", stdin="\n".join(lines)))
    assert found[:2] == [{"loads": True}, {"value": True}]
    assert found[2]["error"] == "GUARD_SYNTAX_ERROR"
    assert "error" in found[3]


def test_simulations_are_answered_line_by_line() -> None:
    lines = [
        '{"state": "cart", "context": {"total": 10}, "events": [{"pay": {"amount": 10}}, "x"]}',
        "[]",
        b'{"events": ["\xff"]}'.decode("latin-1"),
    ]
    found = answers(run("simulate", "order", "--stdin", stdin="\n".join(lines)))
    assert found[0]["state"] == "charging"
    assert found[0]["trail"] == ["cart", "charging"]
    assert found[0]["outcomes"] == ["moved", "refused:UNKNOWN_EVENT"]
    assert found[0]["intents"] == ["charge_card"]
    assert found[0]["context"] == {"total": 10, "paid": 10, "tries": 0}
    assert "error" in found[1]
    assert found[2]["outcomes"] == ["refused:UNKNOWN_EVENT"]


def test_events_given_as_arguments_are_played() -> None:
    result = run("simulate", "order", 'pay={"amount": 3}', "cancel", "--json")
    [story] = answers(result)
    assert story["outcomes"] == ["moved", "moved"]
    assert story["trail"] == ["cart", "charging", "cancelled"]


def test_events_that_are_piped_in_are_played() -> None:
    result = run("simulate", "order", "--json", stdin='pay {"amount": 3}\ncancel\n')
    assert answers(result)[0]["trail"] == ["cart", "charging", "cancelled"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["pay=4"], b"'pay=4' is not an event"),
        (["--state", "nowhere"], b"there is no state 'nowhere'"),
        (["--context", "4"], b"the context is not a JSON object"),
        (["--context", '{"total": "x"}'], b"total: 'x' is not a decimal number"),
    ],
)
def test_a_simulation_that_cannot_be_played_says_why(arguments: list[str], told: bytes) -> None:
    result = run("simulate", "order", *arguments)
    assert result.returncode == 2
    assert told in result.stdout + result.stderr


def test_any_event_of_a_request_is_an_outcome() -> None:
    request = '{"events": [1, null, {"a": 1, "b": 2}, ["pay", {"amount": 1}]]}'
    [answer] = answers(run("simulate", "order", "--stdin", stdin=request))
    assert answer["outcomes"] == ["refused:UNKNOWN_EVENT"] * 3 + ["moved"]


def test_a_drawing_whose_form_cannot_be_told_is_refused(tmp_path: Path) -> None:
    result = run("diagram", "order", "-o", str(tmp_path / "order.png"))
    assert result.returncode == 2
    assert not (tmp_path / "order.png").exists()


def test_a_key_taken_for_an_event_is_told_with_its_way_out() -> None:
    states = "{a: {enter: {when: 1 > 2, to: b}}, b: {end: ok}}"
    text = f"contract: x\nevents: [enter]\nstates: {states}\n"
    hints = {problem.hint for problem in interlock.check(text)}
    assert "`enter` is a key of a state; for the event write `on: {enter: ...}`" in hints


def test_a_simulation_of_a_bad_contract_shows_its_errors(bad: str) -> None:
    result = run("simulate", bad, "push")
    assert result.returncode == 1
    assert b"error[unknown_state]" in result.stderr


@pytest.mark.parametrize(
    ("form", "begins"), [("mermaid", b"stateDiagram-v2"), ("dot", b"digraph"), ("svg", b"<svg")]
)
def test_a_diagram_has_the_form_asked_for(form: str, begins: bytes) -> None:
    result = run("diagram", "order", "--form", form)
    assert result.returncode == 0
    assert begins in result.stdout


def test_a_diagram_takes_its_form_from_the_file(tmp_path: Path) -> None:
    assert run("diagram", "order", "-o", str(tmp_path / "order.svg")).returncode == 0
    assert "<svg" in (tmp_path / "order.svg").read_text(encoding="utf-8")


def test_a_converted_contract_keeps_its_hash(tmp_path: Path) -> None:
    fsm = Path(__file__).parent / "data" / "fsm" / "registration.yaml"
    converted = tmp_path / "native.yaml"
    assert run("convert", str(fsm), "-o", str(converted)).returncode == 0
    assert interlock.load(str(converted)).hash == interlock.load(str(fsm)).hash


def test_a_walk_prints_paths_and_pytest_cases() -> None:
    assert run("walk", "order").returncode == 0
    module = run("walk", "order", "--pytest").stdout.decode()
    compile(module, "walk", "exec")
    assert "def test_" in module


def test_a_difference_that_breaks_exits_with_one(good: str, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(GOOD.replace("push", "pull"), encoding="utf-8")
    assert run("diff", good, good).returncode == 0
    assert run("diff", good, str(other)).returncode == 1


def test_the_bundled_contracts_are_listed_and_used_by_name() -> None:
    listed = run("contracts").stdout.decode()
    for file in BUNDLED.glob("*.yaml"):
        assert file.stem in listed


def test_the_demo_runs_unattended() -> None:
    result = run("demo", "--for", "1")
    assert result.returncode == 0
    assert b"Go on exploring" in result.stdout


def test_every_story_of_the_demo_comes_out_as_told() -> None:
    text = run("demo").stdout.decode()
    assert text.count("INVALID_TRANSITION") == 5
    assert "VALIDATION_ERROR" not in text
    assert "GUARD_FAILED" not in text


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m interlock schema | head -n 1"
    result = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False)
    assert result.stderr == b""


def test_no_command_shows_the_help() -> None:
    result = run()
    assert b"Commands:" in result.stdout + result.stderr
