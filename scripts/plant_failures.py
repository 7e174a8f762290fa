"""Plant every known failure after a model's answers to some items of a dataset."""

from userturn.controls.planted import plant_failures
from userturn.provenance.job_record import recorded
from userturn.study.grid import Grid

if __name__ == "__main__":
    with recorded(snakemake):
        plant_failures(
            settings=Grid(snakemake.config).dataset_settings(snakemake.wildcards.dataset),
            n_items=snakemake.config["controls"]["planted"],
            seed=snakemake.config["seed"],
            identity=snakemake.params.identity,
            path_to_answers=snakemake.input.answers,
            paths_to_other_answers=snakemake.input.other_answers,
            path_to_items=snakemake.input.dataset,
            path_to_texts=snakemake.input.texts,
            path_to_user_turns=snakemake.output.user_turns,
        )
