from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from interlock.contract import keys
from interlock.contract.native.schema import SHAPES, make_schema, write_schema
from interlock.contract.read import BUNDLED, bundled
from interlock.contract.source.node import plain
from interlock.contract.source.read import read_source

ROOT = Path(__file__).parent.parent


def as_data(text: str) -> Any:
    root, _ = read_source(text)
    assert root is not None
    return json.loads(json.dumps(plain(root), default=float))


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_contract_fits_the_schema(name: str) -> None:
    text = (BUNDLED / f"{name}.yaml").read_text(encoding="utf-8")
    jsonschema.Draft202012Validator(make_schema()).validate(as_data(text))


def test_the_schema_is_itself_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(write_schema()))


def test_the_schema_refuses_a_misspelt_key() -> None:
    data = as_data("contract: x\nstates: {a: {end: ok}}\nverson: 2\n")
    errors = list(jsonschema.Draft202012Validator(make_schema()).iter_errors(data))
    assert ["verson" in error.message for error in errors] == [True]


def test_the_schema_tells_an_event_from_a_key_of_a_state() -> None:
    validator = jsonschema.Draft202012Validator(make_schema())
    assert validator.is_valid(as_data("contract: x\nstates: {a: {go: b}, b: {end: ok}}\n"))
    assert not validator.is_valid(as_data("contract: x\nstates: {a: {end: maybe}}\n"))


def test_every_key_has_a_shape_and_a_meaning() -> None:
    for place in keys.PLACES.values():
        for key in place.values():
            assert key.shape in SHAPES
            assert key.meaning.endswith(".")


def test_the_published_schema_is_the_one_the_package_writes() -> None:
    published = ROOT / "docs" / "reference" / "contract.schema.json"
    assert published.read_text(encoding="utf-8") == write_schema(), "run `make docs`"
