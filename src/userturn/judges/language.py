"""Tell whether a text is English, by its script and its function words."""

import re
from functools import lru_cache

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
PLAIN = re.compile(r"[A-Za-zÀ-ɏ]+")  # Latin letters, with and without accents
MOST_OTHER_LETTERS = 0.3  # largest share of other scripts' letters in an English text
LEAST_FUNCTION_WORDS = 0.12  # smallest share in an English text of LONG words
LONG = 12

ENGLISH = frozenset(
    WORD.findall("""
    a about after all also am an and any are as at be because been before but by can could did
    do does doesn't don't for from get had has have he her his how i i'm if in into is isn't it
    it's its just like me more my no not of off on only or other our out over please she should
    so some than thank thanks that that's the their them then there these they this to too up
    was we were what what's when where which who why will with would yes you your
""")
)
OTHER = frozenset(  # of German, French, Spanish, Italian, Portuguese and Dutch
    WORD.findall("""
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
    """Return whether a text is English; None if it has too few words to tell."""
    said = [word.lower().replace("’", "'") for word in WORD.findall(text)]
    letters = sum(map(len, said))
    if not letters:
        return None
    plain = sum(map(len, PLAIN.findall(text)))
    if plain < (1 - MOST_OTHER_LETTERS) * sum(map(str.isalpha, text)):
        return False
    english = sum(map(ENGLISH.__contains__, said))
    if sum(map(OTHER.__contains__, said)) > english:
        return False
    if len(said) >= LONG and english < LEAST_FUNCTION_WORDS * len(said):
        return False
    return True if english else None
