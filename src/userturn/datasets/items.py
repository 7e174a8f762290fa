"""Turn a dataset's rows into items: one conversation each, with the data that grade it.

An item without an id gets one from its content, so that neither the order of the rows nor the
encoding of the file changes any id. Errors name the row and never show its content.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import chain
from math import isnan
from typing import Any

from userturn.datasets.language import language_code
from userturn.datasets.messages import (
    Message,
    check_ending,
    conversation,
    split_reference,
    unpacked,
)
from userturn.datasets.rows import Row, column
from userturn.datasets.turns import PARTS, parts_of, parts_of_tree, selected_parts, version_id
from userturn.errors import UserError
from userturn.storage.hashing import canonical_json, fingerprint
from userturn.wording import kind_of

BY_LANGUAGE = ("language", "problem")  # keys of an item that only some datasets have
ID_LENGTH = 16  # hexadecimal digits of an id made from content


def remove_nulls(value: Any) -> Any:
    """Return a value without the nulls that Parquet fills in, and with 3.0 as 3."""
    if isinstance(value, dict):
        return {key: remove_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [remove_nulls(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _reference(value: Any, where: str) -> str | None:
    if value is None or (isinstance(value, float) and isnan(value)):  # as pandas has no value
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{Decimal(repr(value)):f}"  # 0.00001, which a reader of 1e-05 may take for -5
    if isinstance(value, int):
        return f"{value}"
    raise UserError(
        f"{where}: the reference answer is {kind_of(value)}, expected text or a number; "
        "correct `fields.reference` in the dataset's entry"
    )


def _item(messages: list[Message], **rest: Any) -> Row:
    context, turn = split_reference(messages)
    return {
        "item": None,
        "messages": messages,
        "reference_answer": None,
        "verifier_arguments": None,
        "reference_context": context,
        "reference_user_turn": turn,
    } | rest


def _spoken(row: Row, fields: Mapping[str, Any], where: str) -> Row:
    """Return the language and the problem of a row, as far as `fields` names their columns."""
    named = {key: column(row, fields[key], where) for key in BY_LANGUAGE if key in fields}
    for key, value in named.items():
        if not isinstance(value, str | int | None) or value == "":
            raise UserError(
                f"{where}: the {key} is empty or not text; correct that row or `fields.{key}`"
            )
    _check_language(named.get("language"), "fields.language", where)
    return {key: None if value is None else f"{value}" for key, value in named.items()}


def _check_language(value: Any, key: str, where: str) -> None:
    try:
        language_code("unknown" if value is None else str(value))
    except ValueError as error:
        raise UserError(
            f"{where}: the language {error}, expected a code such as de or a name such as German; "
            f"correct that row, or leave `{key}` out"
        ) from error


def _replies(
    node: Row, path: list[Message], fields: Mapping[str, Any], where: str
) -> Iterator[Row]:
    """Yield an item for every human message of a tree that replies to an assistant's."""
    is_human = not node.get("synthetic") and not node.get("deleted")
    if path and node["role"] == "prompter" and is_human:
        yield _item(
            path[:-1],
            item=node["message_id"],
            reference_context=path,
            reference_user_turn=node["text"],
            **_spoken(node, fields, where),
        )
    here = conversation([{"role": node["role"], "content": node["text"]}], where)
    for reply in node.get("replies") or ():
        yield from _replies(unpacked(reply), path + here, fields, where)


def _items_of_tree(row: Row, settings: Mapping[str, Any], where: str) -> Iterator[Row]:
    fields = settings["fields"]
    try:
        root = unpacked(column(row, fields["tree"], where))
        if "turns" in settings:
            parts = selected_parts(parts_of_tree(root, [], where), settings["turns"], where)
            spoken = _spoken(root, fields, where)
            yield _item([], item=root["message_id"], **spoken) | {PARTS: parts}
        else:
            yield from _replies(root, [], fields, where)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{where}: found no tree of messages with role, text, message_id and "
            f"replies ({type(error).__name__} at {error}); correct that row or `fields.tree`"
        ) from error


def _prompt(row: Row, names: str | list[str], where: str) -> str:
    """Return the text of a column, or the texts of several columns, one below the other.

    Only in a list of columns may a column be a list of texts, which become one line each.
    """
    if isinstance(names, list):
        columns = [column(row, name, where) for name in names]
        lines = [text if isinstance(text, list) else [text] for text in columns]
    else:
        lines = [[column(row, names, where)]]
    for text in chain.from_iterable(lines):
        if not isinstance(text, str):
            raise UserError(
                f"{where}: the prompt is {kind_of(text)}, expected text; correct that row or "
                "`fields.prompt`, name a column of messages by `fields.messages`, one text of a "
                "list by its place, as in `x.0`, or have all of them joined by `prompt: [x]`"
            )
    return "\n\n".join("\n".join(texts) for texts in lines)


def _item_of_row(row: Row, settings: Mapping[str, Any], where: str) -> Row:
    fields = settings["fields"]
    messages: Any
    if "prompt" in fields:
        messages = [{"role": "user", "content": _prompt(row, fields["prompt"], where)}]
    else:
        messages = column(row, fields["messages"], where)
    messages_read = conversation(messages, where, settings.get("roles", {}))
    item = _item(messages_read, **_spoken(row, fields, where))
    if "id" in fields:
        item["item"] = column(row, fields["id"], where)
        if not isinstance(item["item"], str | int) or item["item"] == "":
            kind = "empty" if item["item"] == "" else kind_of(item["item"])
            raise UserError(
                f"{where}: the id is {kind}, expected text or a whole number; correct that row "
                "or `fields.id`, or leave that out"
            )
    if "reference" in fields:
        item["reference_answer"] = _reference(column(row, fields["reference"], where), where)
    if "arguments" in fields:
        values = {key: column(row, name, where) for key, name in fields["arguments"].items()}
        arguments = {
            key: remove_nulls([*map(unpacked, value)] if isinstance(value, list) else value)
            for key, value in values.items()
        }
        _check_language(arguments.get("language"), "fields.arguments.language", where)
        item["verifier_arguments"] = canonical_json(arguments)
    return item


def items_of_row(row: Row, settings: Mapping[str, Any], where: str) -> list[Row]:
    """Return the items of one row: one, those of a tree, or none if the condition finds no turn.

    With `turns` an item is a whole conversation, with its `PARTS` (`turns.items_by_turn`).

    In the condition `gold_context` an item ends before the dataset's own first answer, and that
    answer and the human turn after it are the reference. Otherwise the whole conversation is the
    context of the model's own answer.

    Raises:
        UserError: a row that does not fit `fields`.
    """
    fields = settings["fields"]
    if "tree" in fields:
        items = list(_items_of_tree(row, settings, where))
    else:
        items = [_item_of_row(row, settings, where)]
    if "turns" in settings:
        for item in items:
            if PARTS not in item:
                item[PARTS] = selected_parts(parts_of(item["messages"]), settings["turns"], where)
        return items
    if settings.get("condition") == "gold_context":
        items = [item for item in items if item["reference_context"]]
        items = [item | {"messages": item["reference_context"][:-1]} for item in items]
    for item in items:
        check_ending(item["messages"], where)
    return items


def _content_id(item: Row, where: str, content_ids: int) -> str:
    """Return an id made of an item's content, or of its messages alone if `content_ids` is 2."""
    content: Any = {key: item[key] for key in item if key != PARTS}
    if content_ids == 2:
        content = [[message["role"], message["content"]] for message in item["messages"]]
    try:
        return fingerprint(content)[:ID_LENGTH]
    except UnicodeEncodeError as error:
        raise UserError(
            f"{where}: found half a character (a lone surrogate); correct that row"
        ) from error


def identified(items: Iterable[tuple[str, Row]], content_ids: int = 1) -> Iterator[Row]:
    """Yield items with their ids, where equal rows without an id become x, x-2, x-3.

    If `content_ids` is 2, an id from content leaves out the data for grading. If an item has a
    problem, its id begins with that (`datasets.turns`).

    Raises:
        UserError: another row already has the same id, or a text has half a character.
    """
    seen: dict[str, str] = {}
    copies: dict[str, int] = {}
    for where, item in items:
        content = _content_id(item, where, content_ids)
        if item["item"] is None:
            copies[content] = copies.get(content, 0) + 1
            item["item"] = content if copies[content] == 1 else f"{content}-{copies[content]}"
        item["item"] = str(item["item"])
        if item["item"] in seen:
            raise UserError(
                f"{where}: the id '{item['item']}' is also that of {seen[item['item']]}; ids must "
                "be unique: correct the rows, or leave `fields.id` out"
            )
        seen[item["item"]] = where
        if item.get("problem"):
            item["item"] = version_id(item["problem"], item["item"])
        yield item
