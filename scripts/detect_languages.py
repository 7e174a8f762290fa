"""Tell the languages of prompt, answer and turn, for all turns of a model on a dataset."""

from userturn.generation.turn_languages import detect_languages
from userturn.provenance.job_record import recorded

if __name__ == "__main__":
    with recorded(snakemake):
        detect_languages(
            identity=snakemake.params.identity,
            paths_to_user_turns=snakemake.input.user_turns,
            path_to_answers=snakemake.input.answers,
            path_to_items=snakemake.input.dataset,
            path_to_languages=snakemake.output.languages,
        )
