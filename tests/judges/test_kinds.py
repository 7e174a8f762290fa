"""A kind of judge is one module, which the schema names and the protocol describes."""

import inspect
import pkgutil
from importlib import import_module

import pytest

from userturn import judges
from userturn.config.schema import config_schema
from userturn.errors import UserError
from userturn.judges.kinds import JudgeKind, kind_of


def kinds_in_schema() -> list[str]:
    entry = config_schema()["properties"]["judges"]["additionalProperties"]
    return sorted(entry["properties"]["kind"]["enum"])


def test_schema_names_exactly_the_modules_that_are_kinds() -> None:
    names = [module.name for module in pkgutil.iter_modules(judges.__path__)]
    modules = {name: import_module(f"userturn.judges.{name}") for name in names}
    assert kinds_in_schema() == sorted(
        name for name, module in modules.items() if isinstance(module, JudgeKind)
    )


@pytest.mark.parametrize("name", kinds_in_schema())
def test_functions_of_a_kind_take_what_the_protocol_says(name: str) -> None:
    kind = kind_of({"kind": name})
    functions = [f for f in vars(JudgeKind).values() if inspect.isfunction(f)]
    public = [f for f in functions if not f.__name__.startswith("_")]
    assert len(public) == 7
    for function in public:
        expected = list(inspect.signature(function).parameters)[1:]
        assert list(inspect.signature(getattr(kind, function.__name__)).parameters) == expected


@pytest.mark.parametrize("name", ["oracle", "budget"])
def test_kind_that_is_none_is_told_in_a_sentence(name: str) -> None:
    with pytest.raises(UserError, match=f"'{name}' is not a kind of judge; expected a module"):
        kind_of({"kind": name})
