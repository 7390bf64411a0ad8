"""Files that keep what was computed for a vocabulary, so that the next process loads it instead.

A file holds named numpy arrays and nothing else: it is no pickle, and nothing in it is executed. Its name is the first
half of the vocabulary's fingerprint, and the header has the whole fingerprint:

    bytes   0..15   MAGIC, which ends in the version of the format
           16..23   bytes of the whole file
           24..27   CRC-32 of everything from byte 28 on
           28..31   bytes of the header
           32..     the header, JSON: the fingerprint; the name, type, shape and offset of each array
                    the arrays, each at a multiple of 64 bytes, in the byte order of the machine

`load` reads the file at once, and the arrays are views of it: 10 MB take 0.3 ms to read and 2.3 ms to check (an .npz of
the same arrays takes 4 ms). The checksum finds damage, not malice. So only its owner may write to the folder, and code
that uses loaded arrays as indexes must first compare them with the vocabulary, as `Quotient` does.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import VocabularyError

__all__ = ["VERSION", "load", "path_of", "save"]

Arrays = Mapping[str, npt.NDArray[Any]]

VERSION = 1
"""Increased with every change of the format or of the meaning of an array; files of other versions are refused."""
MAGIC = b"earleymask\r\n\x1a\x00" + struct.pack("<H", VERSION)  # a transfer that changes line ends changes these, too
PREAMBLE = struct.Struct("<16sQII")  # MAGIC, size, checksum, size of the header
CHECKED = 28  # the checksum is over the bytes from here on; the bytes before are compared one by one
ALIGNMENT = 64
WAY_OUT = "; delete it or save it anew"
"""The end of the message if `load` has read a file and refuses it."""
TYPES = ("u1", "u2", "u4", "u8", "i4", "i8")


def path_of(folder: str | os.PathLike[str], fingerprint: str) -> Path:
    """Return the path of the file for the vocabulary with this fingerprint."""
    if len(fingerprint) != 64 or set(fingerprint) - set("0123456789abcdef"):
        raise ValueError(f"expected the fingerprint of a vocabulary, 64 hex digits, got {fingerprint!r}")
    return Path(folder) / f"{fingerprint[:32]}.earleymask"


def save(folder: str | os.PathLike[str], fingerprint: str, arrays: Arrays) -> Path:
    """Write the arrays (of unsigned integers, int32 or int64) to the vocabulary's file, and return its path.

    The folder is created if it does not exist. An existing file is replaced atomically: a process that loads at that
    moment gets the old file or the new one, also if several processes save. Raises `OSError` if the file cannot be
    written; then no partial file is left.
    """
    path = path_of(folder, fingerprint)
    data = _packed(fingerprint, arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    return path


def load(folder: str | os.PathLike[str], fingerprint: str) -> dict[str, npt.NDArray[Any]] | None:
    """Return the arrays that were saved for this vocabulary, read-only; None if there is no file.

    Raises `VocabularyError`, which names the file, if the file cannot be read, is damaged, or was made by another
    version, for another byte order or for another vocabulary. `save` replaces such a file.
    """
    path = path_of(folder, fingerprint)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise VocabularyError(f"{path}: cannot be read: {error}") from error
    try:
        return _unpacked(fingerprint, data)
    except (ValueError, TypeError, KeyError, RecursionError, struct.error) as error:
        why = str(error) if type(error) is _Unfit else f"damaged ({error!r})"
        raise VocabularyError(f"{path}: {why}{WAY_OUT}") from error


class _Unfit(ValueError):
    """A file is refused; the message says why."""


def _packed(fingerprint: str, arrays: Arrays) -> bytearray:
    """Return the bytes of the whole file."""
    entries = []
    offset = 0  # counted from the first array, so that it does not depend on the length of the header
    for name, array in arrays.items():
        if array.dtype.str[1:] not in TYPES or not array.dtype.isnative:
            raise TypeError(f"array {name!r}: type {array.dtype}; only {', '.join(TYPES)} of this machine can be saved")
        entries.append({"name": name, "type": array.dtype.str, "shape": list(array.shape), "offset": offset})
        offset = _aligned(offset + array.nbytes)
    header = json.dumps({"fingerprint": fingerprint, "arrays": entries}).encode("ascii")
    begin = _aligned(PREAMBLE.size + len(header))
    data = bytearray(begin + offset)
    data[PREAMBLE.size : PREAMBLE.size + len(header)] = header
    for entry, array in zip(entries, arrays.values(), strict=True):
        at = begin + entry["offset"]
        data[at : at + array.nbytes] = array.tobytes()
    PREAMBLE.pack_into(data, 0, MAGIC, len(data), 0, len(header))
    PREAMBLE.pack_into(data, 0, MAGIC, len(data), zlib.crc32(memoryview(data)[CHECKED:]), len(header))
    return data


def _unpacked(fingerprint: str, data: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays in a file; any `ValueError`, `TypeError` or `KeyError` means that it is damaged."""
    if data[:14] != MAGIC[:14]:
        raise _Unfit("not a file that was saved for a vocabulary")
    magic, size, checksum, header_size = PREAMBLE.unpack_from(data)
    if magic != MAGIC:
        raise _Unfit(f"in version {int.from_bytes(magic[14:], 'little')} of the format, not in version {VERSION}")
    if size != len(data):
        raise _Unfit(f"damaged: it has {len(data):,} bytes instead of {size:,}")
    if checksum != zlib.crc32(memoryview(data)[CHECKED:]):
        raise _Unfit("damaged: the checksum is wrong")
    header = json.loads(data[PREAMBLE.size : PREAMBLE.size + header_size])
    if header["fingerprint"] != fingerprint:
        raise _Unfit(f"made for the vocabulary {header['fingerprint']}, not for {fingerprint}")
    arrays: dict[str, npt.NDArray[Any]] = {}
    for entry in header["arrays"]:
        if entry["type"][:1] not in ("<", ">", "|") or entry["type"][1:] not in TYPES:
            raise _Unfit(f"damaged: array {entry['name']!r} of type {entry['type']!r}")
        dtype = np.dtype(entry["type"])
        if not dtype.isnative:
            raise _Unfit("made on a machine with another byte order")
        shape = tuple(entry["shape"])
        offset = entry["offset"]
        at = _aligned(PREAMBLE.size + header_size) + offset
        if (
            min(shape, default=0) < 0
            or offset < 0
            or offset % ALIGNMENT
            or at + math.prod(shape) * dtype.itemsize > size
        ):
            raise _Unfit(f"damaged: array {entry['name']!r} is not in the file")
        # SAFETY: numpy compares count and offset with the size of `data` once more.
        arrays[entry["name"]] = np.frombuffer(data, dtype, math.prod(shape), at).reshape(shape)
    return arrays


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
