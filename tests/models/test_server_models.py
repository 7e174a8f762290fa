"""A server's own list says which model it has, and why it cannot be told."""

from typing import Any

import pytest

from tests.support.model_lists import listing
from userturn.errors import UserError
from userturn.models.server_models import ServerModel, model_of_server

TWO = {"data": [{"id": "small", "root": "org/small", "max_model_len": 2048}, {"id": "large"}]}


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_the_only_model_needs_no_name() -> None:
    with listing({"data": TWO["data"][:1]}) as url:
        assert model_of_server(url, None) == ServerModel("small", "org/small", 2048, None)


def test_one_of_several_is_taken_by_its_name() -> None:
    with listing(TWO) as url:
        assert model_of_server(url, "large") == ServerModel("large", None, None, None)


@pytest.mark.parametrize(
    ("told", "name", "said"),
    [
        (TWO, None, r"has 2 models \(large, small\); expected one, or its name by --served-as"),
        (TWO, "smal", "has no model 'smal', did you mean 'small'"),
        ({"data": []}, None, "has 0 models"),
        (["other"], None, "did not list its models"),
    ],
)
def test_what_cannot_be_told_is_said(told: Any, name: str | None, said: str) -> None:
    with listing(told) as url, pytest.raises(UserError, match=said):
        model_of_server(url, name)


def test_a_server_that_does_not_run_is_named() -> None:
    with pytest.raises(UserError, match=r"'http://127.0.0.1:9/v1/models' .*refused"):
        model_of_server("http://127.0.0.1:9/v1", None)
