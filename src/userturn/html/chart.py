"""Pictures of charts: drawn without a network, whatever a chart names."""

import re
from collections.abc import Mapping
from typing import Any

from vl_convert import vegalite_to_pdf, vegalite_to_png, vegalite_to_svg

from userturn.errors import UserError
from userturn.html.pdf import canonical_order

SIZE = re.compile(r'<svg[^<>]{0,999}? width="([\d.]+)"[^<>]{0,999}? height="([\d.]+)"')
LETTERS = re.compile(r'font-size="([\d.]+)px"')
DEFINED = re.compile(r"\b(gradient_|clip)(\d+)\b")  # what a picture defines and refers to


def size_of(svg: str) -> tuple[float, float] | None:
    """Return a picture's width and height in pixels, or None if it does not name them."""
    match = SIZE.search(svg)
    return (float(match[1]), float(match[2])) if match else None


def smallest_letter(svg: str) -> float | None:
    """Return the height of a picture's smallest font in pixels, or None without any text."""
    return min(map(float, LETTERS.findall(svg)), default=None)


def renumbered(svg: str) -> str:
    """Return a picture with its gradients and clips numbered from 0.

    Vega numbers them through all pictures of a process, so bytes would depend on other pictures.
    """
    numbers: dict[str, dict[str, int]] = {}

    def numbered(match: re.Match[str]) -> str:
        ids = numbers.setdefault(match[1], {})
        return f"{match[1]}{ids.setdefault(match[2], len(ids))}"

    return DEFINED.sub(numbered, svg)


NO_URLS: list[str] = []  # without this list vl-convert fetches whatever a chart names


def svg_of(chart: Mapping[str, Any]) -> str:
    """Return a Vega-Lite chart as SVG, or raise UserError if it names an address."""
    return renumbered(vegalite_to_svg(_own(chart), allowed_base_urls=NO_URLS))


def png_of(chart: Mapping[str, Any], pixels: int) -> bytes:
    """Return a chart as PNG, `pixels` times as large as on the screen, or raise as `svg_of`."""
    return vegalite_to_png(_own(chart), scale=pixels, allowed_base_urls=NO_URLS)


def pdf_of(chart: Mapping[str, Any]) -> bytes:
    """Return a chart as PDF, with its fonts, or raise UserError as `svg_of`."""
    return canonical_order(vegalite_to_pdf(_own(chart), allowed_base_urls=NO_URLS))


def _own(chart: Mapping[str, Any]) -> dict[str, Any]:
    if names_an_address(chart):
        raise UserError(
            "the chart was not drawn: it has a `url`, from which data or a picture would be "
            "fetched; expected one with its own data: draw it again"
        )
    return dict(chart)


def names_an_address(chart: Any) -> bool:
    """Return whether anything in a chart would be fetched from an address."""
    if isinstance(chart, Mapping):
        return "url" in chart or any(map(names_an_address, chart.values()))
    return isinstance(chart, list) and any(map(names_an_address, chart))
