"""Every check of an audit: what a finding of it says, and what some of them need."""

CHECKS = {
    "completeness": "an artifact that the configuration asks for, or a job made, is missing",
    "hashes": "an artifact differs from what its job wrote; a drawn round differs from its copy",
    "records": "a provenance record was altered; an artifact has no record, or two",
    "chain": "an artifact was made from another version of its inputs than the one that is there",
    "orphans": "a table, JSON file or journal that no job made",
    "identities": "an artifact has other settings than the study's configuration asks for",
    "keys": "a request's key or seed does not follow from model, prompt, settings, item and sample",
    "rows": "a plan, answer, user turn or score is missing, duplicated, out of order, or differs "
    "from the journal",
    "probes": "the answer before a turn is not the model's own, changed as its perturbation says, "
    "or a probe does not end in the user header",
    "sources": "a dataset differs from its file, a label from people's files, or a local model's "
    "files from those it was described with, where these files are at hand",
    "controls": "a control turn or a labelled turn is not what planting it again gives",
    "prompts": "a prompt is not what the template renders, a text not what its tokens decode to",
    "verdicts": "a verdict differs from the judge's journal, or from what the heuristic judge says",
    "grades": "an answer gets another grade from the verifier (random ones are graded again)",
    "samples": "turns for people are not those that their rule draws, or are shown otherwise",
    "tables": "a number does not follow from what it counts; CSV, Markdown or LaTeX differ from "
    "their Parquet file, a claims sheet from the tables",
    "figures": "a figure does not show what its tables hold, or a picture not its figure",
    "pages": "the report or annotators' task differs from what its tables, figures and turns give",
    "journals": "a journal does not begin with what a job recorded of it; it has lines that no job "
    "recorded",
    "markers": "what a sweep or a judge's job notes as planned, found and asked does not follow "
    "from plans and records",
    "training": "the record of a training differs from recipe, data, base or last checkpoint",
    "left out": "a file was left out of the copy although the configuration does not withhold it",
    "paths": "a stranger's study names a file outside of it, which is not opened",
    "pins": "a model or dataset of the hub has no commit; a model's description differs from its "
    "entry or its pin",
    "proofs": "a model's prompts were never checked",
    "rubrics": "a judge used another rubric than the annotators",
    "coverage": "a cell has more errors than `max_error_share` allows",
    "held out": "items of a dataset occur in training data, and no recipe declares it",
    "secrets": "something looks like a key or password",
    "regenerate": "a request that is run again gives another result",
    "rejudge": "a verdict that is asked for again is another",
}


def needs_of(
    has_journals: bool, n_regenerated: int, n_rejudged: int, with_tokenizers: bool
) -> dict[str, str]:
    """Return what the checks need that are not made, by name."""
    needs = {
        "prompts": with_tokenizers or "--tokenizer",
        "journals": has_journals or "journals",
        "regenerate": n_regenerated or "--regenerate",
        "rejudge": n_rejudged or "--rejudge",
    }
    return {name: need for name, need in needs.items() if isinstance(need, str)}
