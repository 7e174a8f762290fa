"""What `userturn power` assumes: each number with where it comes from."""

from collections.abc import Mapping

from userturn.tables.pilot import Assumption


def chosen(
    given: Mapping[str, float | None],
    found: Mapping[str, Assumption],
    defaults: Mapping[str, tuple[float, str]],
) -> dict[str, Assumption]:
    """Return each assumption: the option, else the pilot's, else the default with its reason."""
    assumed = {}
    for name, value in given.items():
        known = found.get(name, Assumption(None, "not given"))
        if value is not None:
            known = Assumption(value, "given")
        elif known.value is None and name in defaults:
            default, why = defaults[name]
            known = Assumption(default, f"{known.source}: {why}")
        assumed[name] = known
    return assumed


def listed(assumed: Mapping[str, Assumption], meant: Mapping[str, str]) -> str:
    """Return assumptions as text, one line each; `meant` says what each name means."""
    lines = [
        f"  {meant[name]:<52} {'?' if value is None else f'{value:.4g}':>8}  {source}"
        for name, (value, source) in assumed.items()
    ]
    return "\n".join(["assumed", *lines])
