"""Wrong arguments of a command are one sentence, which names the most similar option or value."""

import pytest

from userturn.cli.main import main

SAID = {
    (
        "rates",
        "--modle",
        "x",
    ): "'--modle' is not an option of `userturn rates`, did you mean '--model'? See `userturn r",
    ("audit", "--regenrate=3"): (
        "'--regenrate' is not an option of `userturn audit`, did you mean '--regenerate'?"
    ),
    (
        "compare",
        "a",
    ): "found no B, expected `userturn compare [-h] [--html FILE] [--json] A B [C ...]`",
    ("why", "a", "b"): "found 'b', which is one too many for `userturn why [-h]",
    ("power", "--half-width", "wide"): (
        "--half-width: found 'wide', expected a number such as 0.05; see `userturn power --help`"
    ),
    ("power", "--measure", "gain_anser"): (
        "--measure: found 'gain_anser', did you mean 'gain_answer'?"
    ),
    ("try", "--configfile"): "--configfile: expected at least one argument",
}


@pytest.mark.parametrize("given", SAID, ids=" ".join)
def test_wrong_arguments_are_told_in_one_sentence(
    given: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(given)
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.count("\n") == 1
    assert said.startswith(f"error: {SAID[given]}")
