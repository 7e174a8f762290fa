"""Is the description of a study's files this version's, where this version made everything?"""

from collections.abc import Iterator
from shlex import quote

from userturn.audit.findings import Finding
from userturn.config.installation import INSTALLATION
from userturn.provenance.study_files import Files


def check_readme(files: Files) -> Iterator[Finding]:
    """Yield the description of all files if it is another than this version's."""
    path = "results/README.md"
    ours, there = INSTALLATION / path, files.at(path)
    if not (ours.is_file() and there.is_file()) or any(map(files.other_code, files.makers)):
        return
    if ours.read_bytes() != there.read_bytes():
        fix = f"cp {quote(str(ours))} {path}"
        yield Finding("pages", path, "what this version says of its files", "another text", fix)
