"""The figures of the page: static pictures, and the Vega-Lite charts that take their place.

Vega's own bundle compiles its expressions by `eval`, which the page's policy refuses. Vega-Embed,
which is in the bundle, interprets them where it is asked to (`ast`).
"""

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from vl_convert import javascript_bundle

from userturn.html.svg import size_of
from userturn.report.explorer_prompts import write_script
from userturn.report.paper import pictures_of
from userturn.storage.atomic_files import write_text

NOTICE = "/* Vega, Vega-Lite, Vega-Embed: BSD-3-Clause, github.com/vega; D3: ISC, github.com/d3 */"
TAKE = 'userturn.take("charts", (place, chart, options) => vegaEmbed(place, chart, options));'


def picture(name: str, parts: Sequence[str], captions: Mapping[str, str]) -> str:
    """Return a static figure as HTML, whole or in parts that a page of paper has room for."""
    words, caption = escape(name.replace("_", " ")), escape(captions.get(name, ""))
    images = []
    for number, svg in enumerate(parts, 1):
        which = f" (part {number} of {len(parts)})" if len(parts) > 1 else ""
        images.append(_image(svg, f"{caption or words}{which}"))
    kind = ' class="parts"' if len(parts) > 1 else ""
    return (
        f'<figure id="figure-{escape(name)}"{kind}>'
        f'<div class="scroll picture" tabindex="0" role="region" aria-label="{words}">'
        f"{''.join(images)}</div>"
        f"<figcaption>{caption} <code>figures/{escape(name)}.svg</code></figcaption></figure>"
    )


def _image(svg: str, alt: str) -> str:
    """Return a picture as HTML, with its size, so that the layout does not jump."""
    found = size_of(svg)
    size = f' width="{round(found[0])}" height="{round(found[1])}"' if found else ""
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    return f'<img src="{source}" alt="{alt}"{size} decoding="async">'


def write_charts(
    paths_to_figures: Sequence[str], captions: Mapping[str, str], folder: Path
) -> tuple[dict[str, Any], list[str]]:
    """Write each figure's chart as a data file, and once the library that draws them.

    Returns:
        `charts`, their names, `titles` by name, and `parts` by name (`paper.Part`) of the figures
        that have any; and the static figures as HTML. Vega-Lite files are beside the SVG files.
    """
    titles, cut, pictures = {}, {}, []
    for path in map(Path, paths_to_figures):
        name, chart = path.stem, json.loads(path.with_suffix(".vl.json").read_text("utf-8"))
        write_script(folder, f"figure-{name}", chart)
        titles[name] = title_of(chart)
        parts, shown = pictures_of(chart, path.read_text("utf-8"))
        pictures.append(picture(name, shown, captions))
        if parts:
            cut[name] = parts
    if titles:
        write_text(library(), folder / "charts.js")
    return {"charts": list(titles), "titles": titles, "parts": cut}, pictures


def title_of(chart: Mapping[str, Any]) -> str:
    """Return the title of a figure, given as Vega-Lite."""
    title = chart["title"]
    return str(title if isinstance(title, str) else title["text"])


@cache
def library() -> str:
    """Return the script that draws charts; bundling it takes a second."""
    return f"{NOTICE}\n(() => {{\n{javascript_bundle(TAKE)}\n}})();\n"
