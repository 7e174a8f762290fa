"""The figures of the page: static pictures, and the Vega-Lite charts that take their place.

Vega's own bundle compiles its expressions by `eval`, which the page's policy refuses. Vega-Embed,
which is in the bundle, interprets them where it is asked to (`ast`).
"""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from vl_convert import javascript_bundle

from userturn.report.explorer_prompts import write_script
from userturn.storage.atomic_files import write_text

SIZE = re.compile(rb'<svg[^>]*? width="([\d.]+)"[^>]*? height="([\d.]+)"')
NOTICE = "/* Vega, Vega-Lite, Vega-Embed: BSD-3-Clause, github.com/vega; D3: ISC, github.com/d3 */"
TAKE = 'userturn.take("charts", (place, chart, options) => vegaEmbed(place, chart, options));'


def picture(path: str | Path, captions: Mapping[str, str]) -> str:
    """Return a static figure as HTML, with its size, so that the layout does not jump."""
    name = Path(path).stem
    content = Path(path).read_bytes()
    found = SIZE.search(content)
    width, height = (round(float(number)) for number in found.groups()) if found else (0, 0)
    size = f' width="{width}" height="{height}"' if found else ""
    source = f"data:image/svg+xml;base64,{base64.b64encode(content).decode()}"
    words, caption = escape(name.replace("_", " ")), escape(captions.get(name, ""))
    return (
        f'<figure id="figure-{escape(name)}">'
        f'<div class="scroll picture" tabindex="0" role="region" aria-label="{words}">'
        f'<img src="{source}" alt="{caption or words}"{size} decoding="async"></div>'
        f"<figcaption>{caption} <code>figures/{escape(name)}.svg</code></figcaption></figure>"
    )


def write_charts(paths_to_figures: Sequence[str], folder: Path) -> dict[str, Any]:
    """Write each figure's chart as a data file, and once the library that draws them.

    Returns:
        `charts`, their names, and `titles` by name: their Vega-Lite files are beside the SVG files.
    """
    titles = {}
    for path in map(Path, paths_to_figures):
        chart = json.loads(path.with_suffix(".vl.json").read_text("utf-8"))
        write_script(folder, f"figure-{path.stem}", chart)
        titles[path.stem] = title_of(chart)
    if titles:
        write_text(library(), folder / "charts.js")
    return {"charts": list(titles), "titles": titles}


def title_of(chart: Mapping[str, Any]) -> str:
    """Return the title of a figure, given as Vega-Lite."""
    title = chart["title"]
    return str(title if isinstance(title, str) else title["text"])


@cache
def library() -> str:
    """Return the script that draws charts; bundling it takes a second."""
    return f"{NOTICE}\n(() => {{\n{javascript_bundle(TAKE)}\n}})();\n"
