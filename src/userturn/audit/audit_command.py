"""What `userturn audit` does: every check, what is asked for besides, and the written result."""

from dataclasses import replace
from pathlib import Path

from userturn.audit.audit import Audit
from userturn.audit.check_reruns import Samples, rerun
from userturn.audit.checks import with_asked
from userturn.audit.findings import Finding, Note
from userturn.audit.run import audit
from userturn.audit.write_audit import format_audit, with_config_in, write_audit
from userturn.export.read_archive import opened
from userturn.logs import say
from userturn.no_network import without_network
from userturn.study.powers import check_may_run
from userturn.study.record import read_study_record

INSTEAD = "leave it out: an audit without it runs no model and asks nobody"


def run_audit(
    path: str | Path,
    folder: str | Path,
    samples: Samples,
    with_tokenizers: bool = False,
) -> int:
    """Audit a results folder or an archive of one; print and write the result.

    Args:
        path: path of the folder or archive.
        folder: output folder of audit.json, audit.html and config.yaml.
        samples: the samples of requests and verdicts to repeat, and their seed.
        with_tokenizers: also render all prompts and decode all texts again.

    Raises:
        UserError: there is no study, or models or judges of one would be asked that is not the
            user's own.

    Returns:
        The exit code: 0; 1 with findings; 3 without one if something was not compared that could
        be, such as what another version made.
    """
    with opened(Path(path)) as results:
        config = read_study_record(results).config
        if (option := samples.option) is not None:
            own, trusted = samples.configfiles, samples.trusted
            check_may_run(Path(path), results, config, option, INSTEAD, own, trusted)
        found = _audit_whole(results, samples, with_tokenizers)
    whole = with_config_in(found, Path(folder))
    say(format_audit(whole))
    write_audit(whole, config, Path(folder))
    if whole.findings:
        return 1
    return 3 if whole.is_partial else 0


def _audit_whole(results: Path, samples: Samples, with_tokenizers: bool) -> Audit:
    """Check the results of a folder or archive, and repeat the samples."""
    with without_network():
        found = audit(results, samples)
    more: list[Finding | Note] = [_how_drawn(samples), *rerun(results, samples)]
    if with_tokenizers:
        from userturn.audit.check_prompts import check_prompts  # transformers

        more += check_prompts(results)
    return replace(
        found,
        n_looked_at=with_asked(found.n_looked_at, samples, with_tokenizers),
        findings=sorted([*found.findings, *(m for m in more if isinstance(m, Finding))]),
        notes=sorted([*found.notes, *(m for m in more if isinstance(m, Note))]),
    )


def _how_drawn(samples: Samples) -> Note:
    text = f"random rows were drawn with `--nonce {samples.nonce}`; it draws the same rows again"
    return Note("samples", "results", text)
