"""Draw each model's task accuracy beside its follow-up rate."""

from userturn.figures import draw_accuracy_and_followup
from userturn.logs import log_to

if __name__ == "__main__":
    log_to(snakemake.log[0])
    draw_accuracy_and_followup(
        path_to_rates=snakemake.input.rates,
        path_to_accuracy=snakemake.input.accuracy,
        path_to_vega_lite=snakemake.output.vega_lite,
        path_to_svg=snakemake.output.svg,
        path_to_png=snakemake.output.png,
    )
