"""Find contents in a rendered conversation whose white space a template has trimmed."""

from collections.abc import Sequence


def find_trimmed(
    text: str, literals: Sequence[str], contents: Sequence[str], start: int = 0
) -> list[str] | None:
    """Return contents as a text shows them: with all, some or none of the space at their ends.

    Args:
        text: literals and contents in alternation, from `start` on.
        literals: the template's texts, one more than there are contents.
        contents: the original contents, none of only white space.
        start: position in the text where the first literal begins.

    Returns:
        The contents, or None if the text has any other form.
    """
    begin = start + len(literals[0])
    if not text.startswith(literals[0], start):
        return None
    if not contents:
        return [] if begin == len(text) else None
    stripped = contents[0].strip()
    before, _, after = contents[0].partition(stripped)
    said = text.find(stripped[0], begin)  # what is trimmed holds no such character
    end = said + len(stripped)
    if not before.endswith(text[begin:said]) or not text.startswith(stripped, max(said, begin)):
        return None
    shown = text[end : end + len(after)]
    pairs = enumerate(zip(after, shown, strict=False))
    longest = next((n for n, (one, other) in pairs if one != other), len(shown))
    for n in range(longest, -1, -1):
        rest = find_trimmed(text, literals[1:], contents[1:], end + n)
        if rest is not None:
            return [text[begin : end + n], *rest]
    return None
