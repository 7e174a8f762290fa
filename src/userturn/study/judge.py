"""A judge of a study, by its name."""

from userturn.config.endpoint_models import model_prices
from userturn.endpoints.usage import Price
from userturn.judges.judge import Judge
from userturn.study.contents import INJECTED, LABELLED
from userturn.study.grid import Grid


def judge_prices(grid: Grid) -> dict[str, Price]:
    """Return the prices of all judges of the config and of models, by the names of accounts."""
    entries = grid.config["judges"].items()
    judges = {judge: entry["price"] for judge, entry in entries if "price" in entry}
    return judges | model_prices(grid.models)


def judge_of(grid: Grid, name: str) -> Judge:
    """Return a judge of a grid by its name."""
    config = grid.config
    return Judge(
        name,
        grid.all_judges[name],
        grid.results,
        grid.accounts_folder,
        judge_prices(grid),
        config["max_cost"],
        config["max_error_share"],
        config.get("max_unscored_share", 1.0),  # a study from before there was such a limit
        grid.places.datasets,
        frozenset(config["judges"]),
        frozenset({LABELLED, INJECTED, *map(grid.places.dataset_name, grid.prepared_datasets)}),
    )


def rubric_judge(grid: Grid, dataset: str) -> Judge | None:
    """Return the judge that grades a dataset by its rubrics, or None for another verifier."""
    return judge_of(grid, judge) if (judge := grid.grader(dataset)) else None
