"""Pictures that Vega drew: their size, their smallest letter, and the numbers of their parts."""

import re

SIZE = re.compile(r'<svg[^<>]{0,999}? width="([\d.]+)"[^<>]{0,999}? height="([\d.]+)"')
LETTERS = re.compile(r'font-size="([\d.]+)px"')
DEFINED = re.compile(r"\b(gradient_|clip)(\d+)\b")  # what a picture defines and refers to


def size_of(svg: str) -> tuple[float, float] | None:
    """Return width and height of a picture in pixels, None if it does not say them."""
    found = SIZE.search(svg)
    return (float(found[1]), float(found[2])) if found else None


def smallest_letter(svg: str) -> float | None:
    """Return the height of the smallest font of a picture in pixels, None without any text."""
    return min(map(float, LETTERS.findall(svg)), default=None)


def renumbered(svg: str) -> str:
    """Return a picture with its gradients and clips numbered from 0.

    Vega numbers them through all pictures of a process, so that bytes would depend on the others.
    """
    numbers: dict[str, dict[str, int]] = {}

    def numbered(found: re.Match[str]) -> str:
        known = numbers.setdefault(found[1], {})
        return f"{found[1]}{known.setdefault(found[2], len(known))}"

    return DEFINED.sub(numbered, svg)
