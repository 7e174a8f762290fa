"""Pictures of charts: drawn without a network, whatever a chart names."""

from collections.abc import Mapping
from typing import Any

from vl_convert import vegalite_to_png, vegalite_to_svg

from userturn.errors import UserError
from userturn.html.svg import renumbered

NO_URLS: list[str] = []  # without this list vl-convert fetches whatever a chart names


def svg_of(chart: Mapping[str, Any]) -> str:
    """Return a Vega-Lite chart as SVG.

    Raises:
        UserError: the chart names an address.
    """
    return renumbered(vegalite_to_svg(_own(chart), allowed_base_urls=NO_URLS))


def png_of(chart: Mapping[str, Any], pixels: int) -> bytes:
    """Return a Vega-Lite chart as PNG, with some pixels for each pixel on the screen.

    Raises:
        UserError: the chart names an address.
    """
    return vegalite_to_png(_own(chart), scale=pixels, allowed_base_urls=NO_URLS)


def _own(chart: Mapping[str, Any]) -> dict[str, Any]:
    if names_an_address(chart):
        raise UserError(
            "the chart was not drawn: it has a `url`, from which data or a picture would be "
            "fetched; expected one with its own data: draw it again"
        )
    return dict(chart)


def names_an_address(chart: Any) -> bool:
    """Return whether anything in a chart is to be fetched from elsewhere."""
    if isinstance(chart, Mapping):
        return "url" in chart or any(map(names_an_address, chart.values()))
    return isinstance(chart, list) and any(map(names_an_address, chart))
