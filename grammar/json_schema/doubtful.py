"""The tokens that are tried one by one because they may end a text that decides what follows it.

Keys that an object must not repeat, items that must differ, and the texts and numbers within items that must differ are
followed terminals (`Engine.add_followed`). A mask is made as if their texts did not matter. A token can be wrong in it
only if such a lexeme ends in the token, and then as much follows as it takes for the text to matter:

- After an item, the next item may be refused, so a comma follows. If items never run out, something is left after the
  comma, of each kind that may come; so more follows than the comma and the beginning of an object, an array or a text.
- After a key, the same key may be refused, so a comma and a whole key follow: any beginning of a key is the beginning
  of other keys, too. If patterns bound which keys an object may have, perhaps no other key is left, or none that
  begins so. Then the comma may be refused, or any part of a key.
- After one of many names, another value may follow than after the others, so anything does.
- After a part of an item that no earlier item has at this place, the item differs from all of them. So nothing is
  refused before the item has ended and a comma follows.

If some items must be equal (a negated `uniqueItems`), the end of the array may be refused, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..regex.lower import lower
from ..regex.python import parse

if TYPE_CHECKING:
    from ...earley._regex import Regexes

KEYS, TEXT_ITEMS, NUMBER_ITEMS, TEXT_PARTS, NUMBER_PARTS, NAMES, TAGS = range(7)
"""The kinds of followed terminals: keys; items, also those of arrays within items; other texts and numbers within
items; keys that decide which value follows (`listed_names`); keys in tags (`arguments`)."""

_SPACE = r"[ \t\n\r]*"
_TEXT_ENDS = r'.*"'
_NUMBER_ENDS = r"[-+.0-9eE]*" + _SPACE
_KEY_ENDS = r"(?:.*:|[ \t\n\r])"  # the colon belongs to the key, and white space after it
_TEXT = r'.*".*"'
_NUMBER = r".*[0-9]" + _SPACE
"""What a token has from its beginning to the end of a text or number that is whole in it, and white space."""
_KEY_AND_MORE = r".*:.+"
_COMMA = r".*,"
_NEXT_KEY = rf'.*,{_SPACE}".*".*'
_KEY_OR_COMMA = rf'.*,{_SPACE}(?:".*)?'
_NEXT_ITEM = r".*[}\]].*,"
_NEXT_ITEM_HERE = r"[}\]].*,"
_ANY = r".*"
_OF_AN_ITEM = rf'{_SPACE}(?:[^ \t\n\r{{\["].*|[\["].+|\{{{_SPACE}(?:[^ \t\n\r"].*|".+))'
"""Anything; and what is more than white space and the beginning of an object, its first key, an array or a text."""
_TAG_AND_MORE = r".*(?:parameter|<arg_key>|argument|cofl:value|\[<).+"
_TAG_ENDS_AND_MORE = r'.*[>"].*(?:</|<\|close).*'
"""What a token has from the beginning of a tag with a key to what follows it; and from the end of the key to the tag
after the value, with which the key begins to matter."""
_REPEATED = r'.*\].*|.*["}0-9][ \t\n\r]+|[-+.0-9eE]*[ \t\n\r]+'
"""Tokens in which an array may end, or the white space before its end begin."""


Doubtful = tuple[bool, bool, bool, bool, bool, bool, bool]
"""What the tokens depend on: whether items must differ; whether some of these may have parts; whether some items may
have to be equal; whether the keys of an object may run out; whether an object may have listed names; whether items that
must differ may run out; whether keys stand in tags."""


def doubtful_nodes(regexes: Regexes, described: Doubtful) -> list[int]:
    """Return the doubtful tokens outside of followed terminals, and then within those of each kind, as regex nodes."""
    has_unique_items, follows_items, repeats_items, limits_keys, lists_names, items_run_out, has_tags = described
    next_key = _KEY_OR_COMMA if limits_keys else _NEXT_KEY
    more = _ANY if items_run_out else _OF_AN_ITEM
    next_item, next_item_here = _NEXT_ITEM + more, _NEXT_ITEM_HERE + more
    outside = [_TEXT + (_COMMA + more if has_unique_items else next_key)]
    if has_unique_items:
        outside.append(_NUMBER + "," + more)
    if follows_items:
        outside += [_TEXT + next_item, _NUMBER + next_item_here]
    if lists_names:
        outside.append(_TEXT + _KEY_AND_MORE)
    if has_tags:
        outside.append(_TAG_AND_MORE)
    # Another such lexeme may be whole in the token, after the end of the one that is under way.
    key = [_KEY_ENDS + one for one in (next_key, next_item, *outside)]
    text_part = [_TEXT_ENDS + one for one in (next_item, *outside)]
    number_part = [_NUMBER_ENDS + next_item_here, *[rf"{_NUMBER_ENDS}[,}}\]]{one}" for one in outside]]
    text_item = [_TEXT_ENDS + _COMMA + more, *text_part]
    number_item = [_NUMBER_ENDS + "," + more, *number_part]
    tag = [_TAG_ENDS_AND_MORE, *outside]
    found = [outside, key, text_item, number_item, text_part, number_part, [_KEY_ENDS + ".+"], tag]
    if repeats_items:
        found = [[*one, _REPEATED] for one in found]
    # A token may begin or end within a character.
    later = regexes.byte_set(range(0x80, 0xC0))
    begun = regexes.concat([regexes.byte_set(range(0xC2, 0xF5)), regexes.repeat(later, 0, 2)])
    around = [regexes.repeat(later, 0, 3), regexes.repeat(begun, 0, 1)]
    trees = [parse(f"(?s:{'|'.join(one)})") for one in found]
    return [regexes.concat([around[0], lower(tree, regexes), around[1]]) for tree in trees]
