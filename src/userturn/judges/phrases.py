"""Phrases that tell the heuristic judge who speaks and what a turn refers to."""

import re

from userturn.prompts.control_tokens import CONTROL_TOKEN, OPENS_ROLE

ROLE_NAME = re.compile(r"^\s*(?:assistant|system|model)\s*[:\n]", re.IGNORECASE)
ASSISTANT_OPENING = re.compile(
    r"^\W*(?:(?:sure|certainly|absolutely|of course)\b(?!.*\?)|here(?:'s| is| are) (?!what|my)|"
    r"let me (?!get|see|check|ask)|let's (?!say|assume|suppose|imagine)|"
    r"to (?:solve|find|calculate|determine)\b.*,|"
    r"the answer is|answer:|step \d|we (?:need to|should|must|have to)|you're welcome|"
    r"as (?:an?|your|the) (?:\w+ )?(?:ai|model|assistant|chatbot|user),|"
    r"i(?:'m| am) (?:an? (?:\w+ )?(?:ai|chatbot)|(?:your|the) (?:\w+ )?assistant)\b|"
    r"you are (?:an?|your|the) (?:\w+ )?(?:ai|assistant|chatbot)\b(?!.*\?)|"
    r"the (?:next|following) (?:message|turn|reply|response)\b|"
    r"i(?:'m| am)? (?:hope this|(?:would|'d) be happy|happy to|glad to|sorry to hear|"
    r"understand that|(?:need|want|have) to (?:explain|answer|respond|provide|give|help)|"
    r"should (?:explain|answer|respond|provide|give|mention))|i'd be happy|"
    r"(?:(?:okay|ok|alright|hmm|so|well|first|now)\W+)*(?:the|this|our) user(?:'s)?\b)",
    re.IGNORECASE | re.DOTALL,
)
OFFER = re.compile(
    r"\b(?:let me know if|feel free to|would you like me to|i hope (?:this|that) helps|"
    r"don't hesitate|is there anything else\b[^?]*\b(?:i can|you)\b|"
    r"how (?:can|may) i (?:help|assist) you\b)",
    re.IGNORECASE,
)
PLEASANTRY = re.compile(
    r"^\W*(?:thank(?:s| you)|thx|cheers|cool|ok(?:ay)?|great|got it|yes|no|"
    r"please (?:go on|continue)|continue|tell me more|go on|i see|nice|perfect|awesome|amazing|"
    r"wow|good to know)\b",
    re.IGNORECASE,
)
CODE_LINE = re.compile(
    r"[;{}]\s*$|^\s*(?:def|class|import|from|for|while|if|return|print|elif|else|try)\b.*[:()=]"
    r"|^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|FROM|WHERE)\b|^\s*[\w.\[\]]+\s*(?:=|\+=|\()|^\s*[#$>]"
)
OPENS_BACK = re.compile(
    r"^\W*(?:(?:ok|okay|yes|no|hmm|nice|sorry)\W+)?"
    r"(?:and|but|so|or|then|also|what if|how about|what about|why not|without|"
    r"(?:is|are|was|does|do|did|should|would|could|can)n['’]?t)\b"
    r"|\binstead\b|\b(?:too|though)\W*$",
    re.IGNORECASE,
)
REFERS_BACK = re.compile(
    r"\b(?:it|it's|its|that|this|those|these|they|them|there|he|she|her|him|his|though|still|"
    r"already|too|either|ones|again)\b",
    re.IGNORECASE,
)
OBJECTION = re.compile(
    r"^\W*(?:(?:but|no|hmm|sorry|wait)\W+)*you(?:'ve)? (?:just |only |never |have |did |also )?"
    r"(?:said|say|added|add|left|forgot|forget|missed|wrote|used|made|gave|told|didn't|did not|"
    r"mentioned|calculated|counted|mixed|ignored|skipped)\b",
    re.IGNORECASE,
)
QUESTION_WORD = re.compile(
    r"^\W*(?:what|which|how|why|who|whose|where|when|is|isn't|are|do|does|doesn't|did|can|could|"
    r"should|shouldnt|shouldn't|will|would)\b",
    re.IGNORECASE,
)
FIRST_PERSON = frozenset(
    re.findall(r"\S+", "i i'm i've i'd i'll im ive my me mine we we're we've our us")
)


def without_tokens(turn: str) -> str:
    """Return a turn without control tokens and the role names that follow them."""
    return CONTROL_TOKEN.sub(" ", OPENS_ROLE.sub(" ", turn))


def marks_a_role(turn: str) -> bool:
    """Return whether a turn contains a control token or begins with another role's name."""
    return CONTROL_TOKEN.search(turn) is not None or ROLE_NAME.match(turn) is not None
