"""Which judges have rules that know only English."""

from typing import TYPE_CHECKING

from userturn.judges.kinds import complete_judges, kind_of

if TYPE_CHECKING:
    from userturn.tables.make_tables import Material

ENGLISH = "en"
ENGLISH_ONLY = "the judge knows only English"


def english_only(material: "Material") -> set[str]:
    """Return the judges of a study whose rules know only English."""
    entries, judges = complete_judges(material.grid.config), material.grid.judges
    return {name for name in judges if kind_of(entries[name]).IS_ENGLISH_ONLY}
