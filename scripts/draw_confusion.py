"""Draw which labels each judge gives to what people call what."""

from userturn.confusion import draw_confusion
from userturn.logs import log_to

if __name__ == "__main__":
    log_to(snakemake.log[0])
    draw_confusion(
        path_to_confusion=snakemake.input.confusion,
        path_to_rubric=snakemake.input.rubric,
        path_to_vega_lite=snakemake.output.vega_lite,
        path_to_svg=snakemake.output.svg,
        path_to_png=snakemake.output.png,
    )
