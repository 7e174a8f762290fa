"""The keys of a study's own prediction, which `userturn preregister` registers before its run."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from userturn.config.errors import ConfigError, near_miss
from userturn.config.keys import harmless, part

REGISTRATION = "preregistration.json"  # beside config.yaml


class Against(TypedDict, total=False):
    """The baseline of a predicted change: one of these."""

    temperature: Annotated[float, harmless("Since this temperature.", minimum=0)]
    perturbation: Annotated[str, harmless("Since this perturbation, or none.")]


class Prediction(TypedDict):
    """One predicted rate, or change of a rate, and the edges between which it holds."""

    says: NotRequired[Annotated[str, harmless("The claim in words.", minLength=1)]]
    of: NotRequired[
        Annotated[Literal["follow-up", "accuracy"], harmless("What is predicted; the first.")]
    ]
    model: NotRequired[Annotated[str, harmless("Of this model.")]]
    family: NotRequired[Annotated[str, harmless("Of this family; instead of a model.")]]
    dataset: NotRequired[Annotated[str, harmless("On this dataset; left out, over all.")]]
    temperature: NotRequired[
        Annotated[float, harmless("Left out, the lowest of the study.", minimum=0)]
    ]
    perturbation: NotRequired[Annotated[str, harmless("Left out, none.")]]
    against: NotRequired[
        Annotated[Against, part("Then the change since this is predicted, not the rate.")]
    ]
    above: NotRequired[Annotated[float, harmless("The lower edge.", minimum=-1, maximum=1)]]
    below: NotRequired[Annotated[float, harmless("The upper edge.", minimum=-1, maximum=1)]]


def check_predictions(config: Mapping[str, Any]) -> None:
    """Check each prediction for what the schema cannot express.

    Raises:
        ConfigError: the first that is wrong.
    """
    for name, one in config.get("predictions", {}).items():
        for key in ("model", "dataset", "perturbation"):
            known = ["none", *config[f"{key}s"]] if key == "perturbation" else config[f"{key}s"]
            given = [one[key], *_ends(one, key)] if key in one else _ends(one, key)
            for value in given:
                if value not in known:
                    near = near_miss(value, known)
                    raise ConfigError(f"predictions.{name}: '{value}' is no {key}{near}")
        for is_wrong, expected in (
            (("model" in one) == ("family" in one), "either `model` or `family`"),
            (not {"above", "below"} & set(one), "`above`, `below` or both"),
            (one.get("above", -2) >= one.get("below", 2), "`above` to be less than `below`"),
            (len(one.get("against", {"": 0})) != 1, "one key in `against`"),
            (one.get("of") == "accuracy" and "against" in one, "no `against` for accuracy"),
        ):
            if is_wrong:
                found = ", ".join(f"{key}: {value}" for key, value in one.items())
                raise ConfigError(
                    f"predictions.{name}: found {found or 'nothing'}, expected {expected}"
                )


def _ends(one: Mapping[str, Any], key: str) -> list[str]:
    """Return the baseline of a predicted change, if it is of this kind."""
    against = one.get("against", {})
    return [against[key]] if key in against else []
