"""What comes before the first job and after the last, and the outputs of rules that make tables and figures."""

from userturn.workflow.empty_logs import remove_empty_logs
from userturn.workflow.registry import paths_of, paths_of_figure, tables_of
from userturn.workflow.startup import call_around_jobs

call_around_jobs(workflow, before=study.begin, after=remove_empty_logs)


def table_files(rule):
    """Return the files of the tables that a rule makes, by table, one for each format."""

    def shown(path):
        caption = f"data/captions/{Path(path).stem}.rst"
        if not path.endswith(".csv") or not Path(caption).is_file():
            return path
        return report(path, caption=f"../{caption}", category="Tables")

    return {name: [shown(path) for path in paths_of(name)] for name in tables_of(rule)}


def figure_files(figure):
    """Return the files of a figure: Vega-Lite, SVG and PNG."""
    vega, svg, png = paths_of_figure(figure)
    caption = f"../data/captions/{figure}.rst"
    return [vega, report(svg, caption=caption, category="Figures"), png]
