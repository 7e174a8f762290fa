"""Draw the follow-up rate over temperature, for each perturbation."""

from userturn.figures import draw_rates_by_temperature
from userturn.logs import log_to

if __name__ == "__main__":
    log_to(snakemake.log[0])
    draw_rates_by_temperature(
        path_to_rates=snakemake.input.rates,
        path_to_vega_lite=snakemake.output.vega_lite,
        path_to_svg=snakemake.output.svg,
        path_to_png=snakemake.output.png,
    )
