"""Coefficients of agreement against published examples and the libraries; degenerate cases."""

import krippendorff
import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from userturn.stats.agreement import COEFFICIENTS, Estimate, Ratings, estimate_all
from userturn.stats.proportions import wilson

NAMES = tuple(COEFFICIENTS)
# Gwet 2014, Handbook of Inter-Rater Reliability, table 2.10 (`cac.raw4raters` of R's irrCAC): 12
# units, 4 raters, labels 1 to 5, 0 where there is none. irrCAC 0.4.4 in a venv of its own:
#   CAC(table).gwet(), .krippendorff() -> AC1 0.77544, alpha 0.74342, p_a 0.81818
FOUR_RATERS = np.array(
    [[1, 1, 0, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
     [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [0, 5, 5, 5], [0, 0, 1, 1], [0, 0, 3, 0]]
)  # fmt: skip


def rated(codes: np.ndarray, n_labels: int, weights: np.ndarray | None = None) -> Ratings:
    n = len(codes)
    return Ratings(codes, np.ones(n) if weights is None else weights, np.arange(n), n_labels)


def of_table(table: list[list[int]]) -> np.ndarray:
    """Return two raters' codes from their contingency table."""
    cells = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    return np.array(cells)


def values(ratings: Ratings, names: tuple[str, ...] = NAMES) -> dict[str, float | None]:
    found = estimate_all(ratings, names, np.random.default_rng(0))
    return {name: estimate.estimate for name, estimate in found.items()}


def test_gwets_example_of_four_raters_with_missing_labels() -> None:
    found = values(rated(FOUR_RATERS - 1, 5), ("raw", "krippendorff_alpha", "gwet_ac1"))
    assert found == pytest.approx(
        {"raw": 0.81818, "krippendorff_alpha": 0.74342, "gwet_ac1": 0.77544}, abs=5e-6
    )


def test_gwets_example_of_the_kappa_paradox() -> None:
    # Gwet 2008, section 2: 118 both, 5 and 2 one of the two, 0 neither. By hand: p_o = 118/125,
    # p_e = (123 x 120 + 2 x 5) / 125^2, pi = (123 + 120) / 250.
    found = values(rated(of_table([[118, 5], [2, 0]]), 2))
    p_o, p_e, pi = 118 / 125, (123 * 120 + 2 * 5) / 125**2, 243 / 250
    ac1_e = 2 * pi * (1 - pi)
    assert found["raw"] == pytest.approx(p_o)
    assert found["cohen_kappa"] == pytest.approx((p_o - p_e) / (1 - p_e))
    assert found["gwet_ac1"] == pytest.approx((p_o - ac1_e) / (1 - ac1_e))
    assert found["gwet_ac1"] == pytest.approx(0.94078, abs=5e-6)  # irrCAC 0.4.4


@pytest.mark.parametrize("seed", range(5))
def test_coefficients_are_those_of_the_libraries(seed: int) -> None:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 4, (60, 2))
    codes[:30, 1] = codes[:30, 0]
    found = values(rated(codes, 4))
    table = np.zeros((4, 4))
    np.add.at(table, (codes[:, 0], codes[:, 1]), 1)
    assert found["cohen_kappa"] == pytest.approx(cohens_kappa(table, return_results=False))
    alpha = krippendorff.alpha(codes.T, level_of_measurement="nominal")
    assert found["krippendorff_alpha"] == pytest.approx(alpha)


def test_weight_of_two_is_the_unit_twice_for_shares() -> None:
    codes = of_table([[5, 2], [1, 4]])
    names = ("raw", "cohen_kappa", "gwet_ac1")
    weights = np.ones(len(codes))
    weights[0] = 2
    doubled = values(rated(np.vstack([codes, codes[:1]]), 2), names)
    assert values(rated(codes, 2, weights), names) == pytest.approx(doubled)


def test_interval_holds_its_estimate_and_narrows_with_more_units() -> None:
    small, large = of_table([[8, 2], [2, 8]]), of_table([[80, 20], [20, 80]])
    found = [estimate_all(rated(c, 2), NAMES, np.random.default_rng(0)) for c in (small, large)]
    for name in NAMES:
        widths = [e[name].upper - e[name].lower for e in found]
        assert widths[1] < 0.5 * widths[0]
        assert all(e[name].lower <= e[name].estimate <= e[name].upper for e in found)


def test_bootstrap_draws_items_not_turns() -> None:
    # Each unit stands ten times under one item: that is no more knowledge than once.
    codes = of_table([[8, 2], [2, 8]])
    names = ("raw", "cohen_kappa", "gwet_ac1")
    once = estimate_all(rated(codes, 2), names, np.random.default_rng(0))
    copies = rated(np.repeat(codes, 10, axis=0), 2)._replace(clusters=np.repeat(np.arange(20), 10))
    found = estimate_all(copies, names, np.random.default_rng(0))
    for name in names:
        assert found[name] == pytest.approx(once[name])


def test_interval_of_raw_agreement_is_wilsons() -> None:
    codes = of_table([[40, 10], [10, 40]])
    found = estimate_all(rated(codes, 2), ("raw",), np.random.default_rng(0))["raw"]
    assert found[:3] == pytest.approx(wilson(80, 100))


def test_all_agreeing_is_not_certain() -> None:
    # 27 no and 3 yes, twice: Wilson of 30 in 30 for the share that agrees.
    found = estimate_all(rated(of_table([[3, 0], [0, 27]]), 2), NAMES, np.random.default_rng(0))
    assert found["raw"][:3] == pytest.approx(wilson(30, 30))
    assert all(estimate.upper == estimate.estimate == 1 for estimate in found.values())
    assert found["gwet_ac1"].lower == pytest.approx(0.88, abs=0.06)
    for name in ("cohen_kappa", "krippendorff_alpha"):
        assert 0.3 < found[name].lower < 0.8


def test_limits_of_kappa_are_those_of_jeffreys_posterior() -> None:
    # Another way to the same posterior: gamma draws for the four cells of the table.
    table = np.array([[12, 3], [4, 21]])
    g = np.random.default_rng(1).standard_gamma(table + 0.5, (200000, 2, 2))
    g /= g.sum((1, 2), keepdims=True)
    observed, expected = g[:, 0, 0] + g[:, 1, 1], (g.sum(1) * g.sum(2)).sum(1)
    limits = np.quantile((observed - expected) / (1 - expected), [0.025, 0.975])
    several = [
        estimate_all(rated(of_table(table.tolist()), 2), NAMES, np.random.default_rng(s))
        for s in range(20)
    ]
    mean = np.mean([found["cohen_kappa"][1:3] for found in several], axis=0)
    assert mean == pytest.approx(limits, abs=0.02)


def test_one_label_only_leaves_chance_corrected_agreement_open_with_a_reason() -> None:
    found = estimate_all(rated(np.zeros((5, 2), int), 2), NAMES, np.random.default_rng(0))
    assert (found["raw"].estimate, found["gwet_ac1"].estimate) == (1, 1)
    for name in ("cohen_kappa", "krippendorff_alpha"):
        assert found[name] == Estimate(
            None, None, None, "only one label was used, so agreement by chance is certain"
        )


@pytest.mark.parametrize("codes", [np.empty((0, 2), int), np.array([[0, -1], [-1, 1]])])
def test_no_overlap_is_open_with_a_reason(codes: np.ndarray) -> None:
    found = estimate_all(rated(codes, 2), NAMES, np.random.default_rng(0))
    assert set(found.values()) == {Estimate(None, None, None, "no turn was labelled by both")}


def test_single_unit_has_no_interval() -> None:
    found = estimate_all(rated(np.array([[0, 0]]), 2), ("raw",), np.random.default_rng(0))
    assert found["raw"] == Estimate(1, None, None, "too few items for an interval")
