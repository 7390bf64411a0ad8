"""How tokenizers write bytes as text: the two encodings of token bytes that nearly all vocabularies use.

*Byte-level* (GPT-2; Radford et al. 2019): every byte is written as one printable character, so that a vocabulary of
strings can hold any bytes. `Ġ` is the space, `Ċ` the line feed.

*SentencePiece* (Kudo & Richardson 2018): pieces are text with `▁` (U+2581) for the space; with byte fallback,
`<0x0A>` is the byte 0A.
"""

import re
from collections.abc import Mapping

__all__ = ["SPACE_SYMBOL", "byte_level_alphabet", "from_byte_level", "from_piece"]

SPACE_SYMBOL = "\u2581"
BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
NOT_A_BYTE = "\uffff"  # not in latin-1, so a character outside the alphabet makes the encoding below fail


def byte_level_alphabet() -> dict[str, int]:
    """Return the byte for each character of the byte-level encoding.

    Printable characters of latin-1 stand for themselves; the other 68 bytes, in order, are written from U+0100 on.
    """
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


def _translation(alphabet: Mapping[str, int]) -> dict[int, str]:
    """Return a table for `str.translate` from the alphabet to latin-1, in which the code of a character is its byte."""
    outside = {code: NOT_A_BYTE for code in range(256) if chr(code) not in alphabet}
    return outside | {ord(character): chr(byte) for character, byte in alphabet.items()}


_BYTE_LEVEL = _translation(byte_level_alphabet())


def from_byte_level(token: str) -> bytes:
    """Return the bytes of a byte-level token: `Ġthe` -> b" the".

    A token with any character outside the alphabet is not byte-level and stands for its own UTF-8, as in the
    ByteLevel decoder of `tokenizers`: `<｜end▁of▁sentence｜>` in DeepSeek's vocabulary.
    """
    try:
        return token.translate(_BYTE_LEVEL).encode("latin-1")
    except UnicodeEncodeError:
        return token.encode("utf-8", "surrogatepass")


def from_piece(piece: str, *, byte_fallback: bool, space: str = SPACE_SYMBOL) -> bytes:
    """Return the bytes of a SentencePiece piece: `▁the` -> b" the"; with byte fallback also `<0x0A>` -> b"\\n".

    `▁` is a space in every position. Decoders drop the space before the first word, which a dummy prefix put there;
    that changes the start of the text, not the bytes of a token.
    """
    if byte_fallback:
        byte = BYTE_PIECE.fullmatch(piece)
        if byte is not None:
            return bytes([int(byte[1], 16)])
    return piece.replace(space, " ").encode("utf-8", "surrogatepass")
