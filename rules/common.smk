"""What comes before the first job and after the last, and how rules read the table of jobs."""

from userturn.config.load import installed
from userturn.slurm.driver import stand_between
from userturn.workflow.startup import call_around_jobs
from userturn.workflow.registry import report_labels
from userturn.workflow.run_job import value_of_text

call_around_jobs(workflow, study, stand_between)
DEFAULTS = workflow.resource_settings.default_resources  # of the profile
CAPTIONS = "data/captions"  # of Snakemake's own report


report: "../data/report.rst"


def of_study(texts):
    """Return by name what the study says: paths, values, or functions of wildcards."""
    return {name: value_of_text(study, text) for name, text in texts.items()}


def marked(outputs):
    """Return outputs as Snakemake takes them: folders, and what its own report shows, are marked."""

    def mark(path):
        caption, said = f"{Path(path).stem}.rst", report_labels(path)
        if not said or not (installed(CAPTIONS) / caption).is_file():
            return path if Path(path).suffix else directory(path)
        return report(path, caption=f"../{CAPTIONS}/{caption}", **said)

    return {
        name: mark(paths) if isinstance(paths, str) else [mark(path) for path in paths]
        for name, paths in outputs.items()
    }


def describe_rules(jobs):
    """Give each rule the sentence of its job, which `snakemake --list` prints."""
    for one in workflow.rules:
        if one.name in jobs:
            one.docstring = jobs[one.name].does
