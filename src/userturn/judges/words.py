"""Words of a text, how many of them occur in another text, and whether they are English."""

import re
from collections.abc import Sequence, Set
from functools import lru_cache
from itertools import pairwise
from typing import Any

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
BETWEEN_WORDS = {n: " " for n in range(128) if not chr(n).isalnum()}
STOP_WORDS = frozenset(
    WORD.findall("""
    a about all also am an and any are as at be been but by can could did do does doesn't don't
    for from get had has have he her his how i i'm i've if in is isn't it it's its just like
    many me more much my no not of off on one ones or our out please she should so some that
    that's the their them then there these they this to too up use using was we were what what's
    when where which who why will with would yes you your
""")
)


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    if text.isascii() and "'" not in text:  # three times as fast as the regular expression
        return text.lower().translate(BETWEEN_WORDS).split()
    return [word.lower().replace("’", "'") for word in WORD.findall(text)]


def stem(word: str) -> str:
    """Return a word without its most frequent endings."""
    for ending in ("'s", "ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def content_words(turn_words: Sequence[str]) -> list[str]:
    """Return the stems of those words that carry meaning: no stop words, no single letters."""
    return [stem(w) for w in turn_words if w not in STOP_WORDS and (len(w) > 1 or w.isdigit())]


@lru_cache(maxsize=16384)  # prompts and answers are met again in other cells of a dataset
def vocabulary(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that carry meaning."""
    return frozenset(content_words(words(text)))


@lru_cache(maxsize=4096)
def pairs(text: str) -> frozenset[tuple[str, str]]:
    """Return the pairs of neighbouring words of a text."""
    return frozenset(pairs_of(words(text)))


def pairs_of(turn_words: Sequence[str]) -> list[tuple[str, str]]:
    """Return each word with the word that follows."""
    return list(pairwise(turn_words))


def share_contained(sought: Sequence[Any], others: Set[Any]) -> float:
    """Return the share of `sought` that is in `others`, 0 if `sought` is empty."""
    return sum(map(others.__contains__, sought)) / len(sought) if sought else 0.0


def share_repeated(turn: Sequence[str]) -> float:
    """Return the share of word triples that occurred before in the same turn."""
    n_triples = len(turn) - 2
    if n_triples < 1:
        return 0.0
    return 1 - len(set(zip(turn, turn[1:], turn[2:], strict=False))) / n_triples


EMPTY_WORDS = frozenset(  # stems of words that occur in turns after any answer
    content_words(
        words("""
    anything answer answers appreciate awesome best better continue cool else example examples
    explain explanation give go good great handle helpful help helps interesting know make makes
    next nice ok okay perfect problem question questions really recommend say situation solution
    solve start suggest sense sure tell thank thanks thing things think understand very want way
    well wow
""")
    )
)


PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
PLAIN = re.compile(r"[A-Za-zÀ-ɏ]+")  # Latin letters, with and without accents
MOST_OTHER_LETTERS = 0.3  # largest share of other scripts' letters in an English text
LEAST_FUNCTION_WORDS = 0.12  # smallest share in an English text of LONG words
LONG = 12

ENGLISH = frozenset(
    PLAIN_WORD.findall("""
    a about after all also am an and any are as at be because been before but by can could did
    do does doesn't don't for from get had has have he her his how i i'm if in into is isn't it
    it's its just like me more my no not of off on only or other our out over please she should
    so some than thank thanks that that's the their them then there these they this to too up
    was we were what what's when where which who why will with would yes you your
""")
)
OTHER = frozenset(  # of German, French, Spanish, Italian, Portuguese and Dutch
    PLAIN_WORD.findall("""
    aber auch auf bei bitte danke das dein dem den der du ein eine einen einer er es für
    gilt habe ich ist kann kein mein meine mir mit nicht noch oder schon sich sie sind und vom
    von warum wenn wie wird wo wurde zu zum zur alors au aux avec ça ce cela ces cette dans de
    des donc du elle est et il je la le les leur mais merci ne nous ou où pas plus pour pourquoi
    quand que quel quelle qui sa ses son sur tous très un une vous al cómo con cuando del desde
    el ella en eres esta este está gracias hay los las lo muy más mi para pero por porque qué se
    ser su sus también tu una uno y che della di gli grazie il mio nel non per perché
    più questo sono ao como da dos em eu foi isso mas meu na não nas nos obrigado os pela pelo
    são sem seu uma você dat een en het ik maar met naar niet op te van voor wat zijn
""")
)


@lru_cache(maxsize=16384)  # prompts and answers recur in other cells of a dataset
def is_english(text: str) -> bool | None:
    """Return whether a text is English, or None if it has too few words to tell."""
    lowered = [word.lower().replace("’", "'") for word in PLAIN_WORD.findall(text)]
    letters = sum(map(len, lowered))
    if not letters:
        return None
    plain = sum(map(len, PLAIN.findall(text)))
    if plain < (1 - MOST_OTHER_LETTERS) * sum(map(str.isalpha, text)):
        return False
    english = sum(map(ENGLISH.__contains__, lowered))
    if sum(map(OTHER.__contains__, lowered)) > english:
        return False
    if len(lowered) >= LONG and english < LEAST_FUNCTION_WORDS * len(lowered):
        return False
    return True if english else None
