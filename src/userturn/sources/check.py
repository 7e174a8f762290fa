"""Check a study's whole configuration: schema, files, operators, judges and trained models."""

from userturn.config.check import check
from userturn.config.endpoint_models import check_endpoint_models
from userturn.config.entries import Config
from userturn.config.trained_models import check_trained
from userturn.judges.check_entries import check_judges
from userturn.prompts.perturbations import check_perturbations
from userturn.sources.registry import sources


def check_study(config: Config) -> None:
    """Check that a configuration can be run.

    Raises:
        ConfigError: the first fault, in one sentence.
    """
    check(config)
    for source in sources().values():
        source.check(config)
    check_perturbations(config)
    check_judges(config)
    check_trained(config)
    check_endpoint_models(config)
