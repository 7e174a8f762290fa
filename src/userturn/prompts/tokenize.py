"""Encode text so that only the template's own text can contain a model's control tokens.

If no message contains a control token, the text is encoded whole, as the model's own files do.
Otherwise a copy of the tokenizer with secret names for its control tokens encodes it: the
template's control tokens are written by their secret names, and a message's `<|im_end|>` is text.

Where texts of many models are judged or shown, no model's tokenizer is loaded, so a token is
recognised by the forms that families use: `<|im_end|>`, `<｜User｜>`, `<start_of_turn>`, `</s>`,
`[INST]`, `[|endofturn|]` of EXAONE, `]~b]` and `[e~[` of MiniMax.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from userturn.errors import UserError

ROLES = "system|developer|user|assistant|tool|observation|model|ipython"
_WORDS = "s|sop|eop|eos|bos|pad|unk|think|start_of_turn|end_of_turn|tool_call|tool_response"
_BRACKETED = (
    "INST|gMASK|sMASK|MASK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT"
)
_MINIMAX = r"\]~!?[a-z]+[\[\]]|\]![a-z]~\[|\]<\][^\s\[\]]*\[>\[|\[e~\["

CONTROL_TOKEN = re.compile(
    r"<[|｜][^>|｜]*[|｜]>|<\|[^|>]*\|>"
    r"|<\|[a-zA-Z_]{1,32}>|<[a-zA-Z_]{1,32}\|>"
    rf"|</?(?:{_WORDS})>"
    rf"|\[/?(?:{_BRACKETED})\]"
    r"|\[\|[a-zA-Z_]{1,32}\|\]"
    rf"|{_MINIMAX}"
)
"""A whole control token."""

OPENS_ROLE = re.compile(
    rf"(?:<\|(?:im_start|start|turn|start_of_role)\|?>|<\|start_header_id\|>|<start_of_turn>"
    rf"|\]~b\])"
    rf"(?P<a>{ROLES})\b(?:<\|(?:end_header_id|end_of_role)\|>)?"
    rf"|<[|｜](?P<b>{ROLES})[|｜]>"
    rf"|\[\|(?P<c>{ROLES})\|\]",
    re.IGNORECASE,
)
"""The control tokens that begin a role's turn, with the role's name in group a, b or c."""

MAY_OPEN_TOKEN = (
    rf"<(?=[|/a-zA-Z_｜]|用户>)|\[(?=/?[A-Z]|[gs]?MASK|\|)|(?={_MINIMAX})[\[\]]"
    rf"|\[(?=[ \t]*(?i:{ROLES})[ \t]*\])"
)
"""The first character of anything that could be a control token, even of an unknown family.

Also of `[user]` and the like, the headings of messages in a judge's prompt.
"""

WIDE_TOKEN = rf"\uff1c(?=[|｜/a-zA-Z_])|\uff3b(?=[ \t]*(?:/?[A-Z]|(?i:{ROLES})\b))"
"""The first character of a token in full-width brackets, which a reader takes for the token."""

_SPEAKERS = rf"{ROLES}|human|ai|bot|chatbot"
_CLOSE = r":\uff1a\])】\uff09\uff3d>\uff1e"
NAMES_ROLE = rf"(?m:^)[^\w\n]*+(?=(?i:{_SPEAKERS})\b[^\w\n{_CLOSE}]*+[{_CLOSE}])\w"
"""What begins a line that names a role, up to the role's first letter.

That is in `user:`, `[human]`, `**AI:**` or `【user】`.
"""


SECRET_NAMES = 0xF0000  # a private plane of Unicode: one character per control token
MARKER = re.compile(r"<[|｜].*[|｜]>", re.DOTALL)  # also with DeepSeek's wide bars


class TemplateError(UserError):
    """A chat template or an item from which no checked prompt can be derived."""


def interleave(literals: Sequence[str], contents: Sequence[str]) -> str:
    """Return a conversation's text: literal, content, literal, ..., literal."""
    pairs = zip(literals, [*contents, ""], strict=True)
    return "".join(literal + content for literal, content in pairs)


def find_control_tokens(tokenizer: Any, texts: Sequence[str]) -> dict[str, int]:
    """Return the ids of a tokenizer's control tokens, by text.

    These are the special tokens, those of the form `<|name|>`, and all added tokens that occur in
    `texts` (the template and its output). Added tokens for white space or HTML do not count.
    """
    return {
        token.content: token_id
        for token_id, token in tokenizer.added_tokens_decoder.items()
        if token.special
        or MARKER.fullmatch(token.content)
        or (token.content.strip() and any(token.content in text for text in texts))
    }


@dataclass(frozen=True)
class Encoder:
    """A tokenizer that keeps a template's text and its messages apart.

    Attributes:
        control_tokens: ids of the control tokens, by text.
    """

    tokenizer: Any
    control_tokens: Mapping[str, int]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.control_tokens, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def find(self, text: str) -> list[str]:
        """Return the control tokens in a text, in order."""
        return self._pattern.findall(text)

    def encode(self, literals: Sequence[str], contents: Sequence[str]) -> list[int]:
        """Return the token ids of a conversation: the template's own texts, and contents between.

        Raises:
            TemplateError: this tokenizer cannot keep a message from being read as control tokens.
        """
        text = interleave(literals, contents)
        whole = self.encode_whole(text)
        expected = self._expected(literals)
        n_written = sum(len(self.find(part)) for part in literals)
        if len(self.find(text)) == n_written and self._count(whole) == expected:
            return whole
        blanked = [self._pattern.sub(" ", content) for content in contents]
        if self.encode_apart(literals, blanked) != self.encode_whole(interleave(literals, blanked)):
            raise TemplateError(
                "a message holds a special token of the model as plain text, and this tokenizer "
                "cannot be made to read it as text; leave that item out"
            )
        return self.encode_apart(literals, contents)

    def encode_whole(self, text: str) -> list[int]:
        """Return the token ids that the tokenizer itself gives a text."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def encode_apart(self, literals: Sequence[str], contents: Sequence[str]) -> list[int]:
        """Return the token ids, with no content read as a control token, or raise TemplateError."""
        copy, names = self._copy
        hidden = [self._pattern.sub(lambda m: names[m.group()], part) for part in literals]
        text = interleave(hidden, contents)
        n_named = sum(len(self.find(part)) for part in literals)
        if sum(text.count(name) for name in names.values()) != n_named:
            raise TemplateError(
                "a message holds a special token of the model, and private characters that its "
                "reading as text would need; leave that item out"
            )
        ids_by_name = {name: self.control_tokens[token] for token, name in names.items()}
        encoding = copy.encode(text, add_special_tokens=False)
        ids = [
            ids_by_name.get(token, i)
            for token, i in zip(encoding.tokens, encoding.ids, strict=True)
        ]
        if self._count(ids) != self._expected(literals):
            raise TemplateError(
                "a message holds a special token of the model as plain text, and this tokenizer "
                "spells it with that same token; leave that item out"
            )
        return ids

    def _expected(self, literals: Sequence[str]) -> Counter[int]:
        """Count the control tokens that a conversation should have, by id."""
        tokens = [token for part in literals for token in self.find(part)]
        return self._count([self.control_tokens[token] for token in tokens])

    def _count(self, ids: Sequence[int]) -> Counter[int]:
        # A character outside the vocabulary becomes the unknown token, which ends no turn.
        control_ids = set(self.control_tokens.values()) - {self.tokenizer.unk_token_id}
        return Counter(i for i in ids if i in control_ids)

    @cached_property
    def _copy(self) -> tuple[Any, dict[str, str]]:
        """The tokenizer with its control tokens renamed, and the name of each."""
        from tokenizers import Tokenizer

        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if not isinstance(backend, Tokenizer):
            raise TemplateError(
                f"a message holds a special token of the model as plain text, and a "
                f"{type(self.tokenizer).__name__} has no tokenizer.json to encode it as text with; "
                "convert it to a fast tokenizer, or leave that item out"
            )
        names = {token: chr(SECRET_NAMES + i) for i, token in enumerate(self.control_tokens)}
        try:
            return Tokenizer.from_str(json.dumps(_renamed(backend.to_str(), names))), names
        except Exception as error:  # the tokenizers library raises nothing narrower
            raise TemplateError(
                f"a message holds a special token of the model as plain text, and its tokenizer "
                f"cannot be copied to encode it as text ({error}); leave that item out"
            ) from error


def _renamed(text: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a tokenizer.json with some tokens renamed, in its vocabulary too."""
    settings: dict[str, Any] = json.loads(text)
    settings |= {"post_processor": None, "truncation": None, "padding": None}
    for token in settings["added_tokens"]:
        token["content"] = names.get(token["content"], token["content"])
    model = settings["model"]
    vocabulary = model.get("vocab", {})
    if isinstance(vocabulary, dict):
        model["vocab"] = {names.get(piece, piece): i for piece, i in vocabulary.items()}
    else:
        model["vocab"] = [[names.get(piece, piece), *rest] for piece, *rest in vocabulary]
    if isinstance(model.get("unk_token"), str):
        model["unk_token"] = names.get(model["unk_token"], model["unk_token"])
    return settings
