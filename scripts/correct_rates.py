"""Correct every judge's rates by what people labelled."""

from userturn.correcting import correct_rates
from userturn.grid import Grid
from userturn.human_grid import HumanGrid
from userturn.provenance import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        correct_rates(
            families=HumanGrid(Grid(snakemake.config)).families,
            identity=snakemake.params.identity,
            paths_to_user_turns=snakemake.input.user_turns,
            paths_to_verdicts=snakemake.input.verdicts,
            paths_to_annotations=snakemake.input.annotations,
            paths_to_keys=snakemake.input.round_keys,
            path_to_corrected_rates=snakemake.output.corrected_rates,
            path_to_corrected_rates_csv=snakemake.output.corrected_rates_csv,
        )
