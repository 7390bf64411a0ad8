"""Prebuilt arrays that were saved are loaded again, and any other file is refused by its name."""

import json
import os
import struct
import sys
import threading
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from earleymask.trie import Vocabulary, VocabularyError, prebuilt
from earleymask.trie._quotient import Quotient

FINGERPRINT = Vocabulary.bytes().fingerprint
OTHER = FINGERPRINT[:32] + FINGERPRINT[:32]
ARRAYS: dict[str, npt.NDArray[Any]] = {
    "one": np.arange(5, dtype=np.uint32),
    "two": np.arange(200, dtype=np.uint8).reshape(2, 100),
    "none": np.zeros((0, 7), np.uint64),
    "négatif": np.array(-3, np.int64),
}


def assert_equal(loaded: dict[str, npt.NDArray[Any]] | None, saved: dict[str, npt.NDArray[Any]]) -> None:
    assert loaded is not None
    assert list(loaded) == list(saved)
    for name, array in saved.items():
        assert loaded[name].dtype == array.dtype and loaded[name].shape == array.shape
        assert np.array_equal(loaded[name], array)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "er"
    assert prebuilt.load(folder, FINGERPRINT) is None
    path = prebuilt.save(folder, FINGERPRINT, ARRAYS)
    assert path == prebuilt.path_of(folder, FINGERPRINT) and FINGERPRINT.startswith(path.stem)
    assert list(folder.iterdir()) == [path]
    loaded = prebuilt.load(folder, FINGERPRINT)
    assert_equal(loaded, ARRAYS)
    assert loaded is not None
    with pytest.raises(ValueError, match="read-only"):
        loaded["one"][0] = 1
    # Saving again replaces the whole file.
    prebuilt.save(folder, FINGERPRINT, {"one": ARRAYS["two"]})
    assert_equal(prebuilt.load(folder, FINGERPRINT), {"one": ARRAYS["two"]})
    assert_equal(loaded, ARRAYS)


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.sampled_from(prebuilt.TYPES).flatmap(
            lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=0, min_side=0))
        ),
        max_size=4,
    )
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_arrays(tmp_path: Path, arrays: dict[str, npt.NDArray[Any]]) -> None:
    prebuilt.save(tmp_path, FINGERPRINT, arrays)
    assert_equal(prebuilt.load(tmp_path, FINGERPRINT), arrays)


def test_arrays_that_are_not_contiguous(tmp_path: Path) -> None:
    array = np.arange(60, dtype=np.uint32).reshape(6, 10)
    for view in (array[::2, 1::3], array.T, np.asfortranarray(array)):
        prebuilt.save(tmp_path, FINGERPRINT, {"view": view})
        assert_equal(prebuilt.load(tmp_path, FINGERPRINT), {"view": view})


def test_a_quotient_comes_back(tmp_path: Path) -> None:
    quotient = Quotient(Vocabulary.bytes().trie)
    prebuilt.save(tmp_path, FINGERPRINT, quotient.arrays())
    again = Quotient(Vocabulary.bytes().trie, arrays=prebuilt.load(tmp_path, FINGERPRINT))
    again.check()
    assert all(np.array_equal(again.tables()[name], table) for name, table in quotient.tables().items())


# -- damaged files -----------------------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_is_found(tmp_path: Path, data: st.DataObject) -> None:
    """A changed byte, a missing end or appended bytes never give other arrays, and never another error."""
    path = prebuilt.save(tmp_path, FINGERPRINT, ARRAYS)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    match data.draw(st.sampled_from(["change", "cut", "append"])):
        case "change":
            content[place] ^= data.draw(st.integers(1, 255))
        case "cut":
            del content[place:]
        case "append":
            content += data.draw(st.binary(min_size=1, max_size=100))
    path.write_bytes(content)
    with pytest.raises(VocabularyError) as refused:
        prebuilt.load(tmp_path, FINGERPRINT)
    assert str(path) in str(refused.value) and "save it anew" in str(refused.value)


def write(folder: Path, header: object, *, body: bytes = bytes(64)) -> Path:
    """Write a file with a right checksum and any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    content = bytearray(-(-(32 + len(text)) // 64) * 64) + body
    content[28:32] = struct.pack("<I", len(text))
    content[32 : 32 + len(text)] = text
    content[:28] = struct.pack("<16sQI", prebuilt.MAGIC, len(content), zlib.crc32(content[28:]))
    path = prebuilt.path_of(folder, FINGERPRINT)
    path.write_bytes(content)
    return path


RIGHT = {"name": "a", "type": "|u1", "shape": [64], "offset": 0}
SWAPPED = ">u4" if sys.byteorder == "little" else "<u4"


def test_the_header_of_these_tests(tmp_path: Path) -> None:
    write(tmp_path, {"fingerprint": FINGERPRINT, "arrays": [RIGHT]})
    assert_equal(prebuilt.load(tmp_path, FINGERPRINT), {"a": np.zeros(64, np.uint8)})


@pytest.mark.parametrize(
    "entry",
    [
        {"shape": [65]},
        {"shape": [2**70]},
        {"shape": [-1]},
        {"shape": [-8, -8]},
        {"shape": [1.5]},
        {"shape": ["1"]},
        {"shape": [1] * 100},
        {"shape": 64},
        {"shape": None},
        {"offset": 1},
        {"offset": -1},
        {"offset": -10000},
        {"offset": 2**70},
        {"offset": 0.0},
        {"offset": None},
        {"type": "|O"},
        {"type": "<f8"},
        {"type": "u4,u4"},
        {"type": ["u4"]},
        {"type": ""},
        {"type": None},
        {"type": "xu4"},
        {"type": ",u4"},
        {"name": []},
        {"name": {}},
    ],
    ids=str,
)
def test_headers_that_lie(tmp_path: Path, entry: dict[str, object]) -> None:
    path = write(tmp_path, {"fingerprint": FINGERPRINT, "arrays": [RIGHT | entry]})
    with pytest.raises(VocabularyError, match="damaged") as refused:
        prebuilt.load(tmp_path, FINGERPRINT)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b"3",
        {},
        {"fingerprint": FINGERPRINT},
        {"fingerprint": FINGERPRINT, "arrays": None},
        {"fingerprint": FINGERPRINT, "arrays": [3]},
        {"fingerprint": FINGERPRINT, "arrays": ["name"]},
        {"fingerprint": FINGERPRINT, "arrays": [{}]},
    ],
    ids=lambda header: str(header)[:60],
)
def test_other_headers(tmp_path: Path, header: object) -> None:
    write(tmp_path, header)
    with pytest.raises(VocabularyError, match=r"damaged .*; delete it or save it anew"):
        prebuilt.load(tmp_path, FINGERPRINT)


def test_another_byte_order(tmp_path: Path) -> None:
    write(tmp_path, {"fingerprint": FINGERPRINT, "arrays": [RIGHT | {"type": SWAPPED, "shape": [4]}]})
    with pytest.raises(VocabularyError, match="machine with another byte order"):
        prebuilt.load(tmp_path, FINGERPRINT)


def test_another_version(tmp_path: Path) -> None:
    path = prebuilt.save(tmp_path, FINGERPRINT, ARRAYS)
    content = bytearray(path.read_bytes())
    content[14] += 1
    path.write_bytes(content)
    message = f"version {prebuilt.VERSION + 1} of the format, not in version {prebuilt.VERSION}"
    with pytest.raises(VocabularyError, match=message):
        prebuilt.load(tmp_path, FINGERPRINT)


def test_another_vocabulary(tmp_path: Path) -> None:
    """A file of another vocabulary under the right name is refused: the fingerprint in it differs."""
    prebuilt.save(tmp_path, OTHER, ARRAYS)
    with pytest.raises(VocabularyError, match=f"made for the vocabulary {OTHER}, not for {FINGERPRINT}"):
        prebuilt.load(tmp_path, FINGERPRINT)


@pytest.mark.parametrize("content", [b"", b"earleymask", b"PK\x03\x04" + bytes(100)])
def test_foreign_files(tmp_path: Path, content: bytes) -> None:
    prebuilt.path_of(tmp_path, FINGERPRINT).write_bytes(content)
    with pytest.raises(VocabularyError, match="not a file that was saved for a vocabulary"):
        prebuilt.load(tmp_path, FINGERPRINT)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    path = prebuilt.path_of(tmp_path, FINGERPRINT)
    path.mkdir()
    with pytest.raises(VocabularyError, match="cannot be read"):
        prebuilt.load(tmp_path, FINGERPRINT)


# -- saving that fails -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [np.zeros(3), np.array(["a"]), np.array([None]), np.array([True]), np.array([1], SWAPPED)],
    ids=lambda array: str(array.dtype),
)
def test_types_that_are_not_saved(tmp_path: Path, array: npt.NDArray[Any]) -> None:
    with pytest.raises(TypeError, match="array 'a': type"):
        prebuilt.save(tmp_path, FINGERPRINT, {"a": array})
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_where_saving_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = prebuilt.save(tmp_path, FINGERPRINT, ARRAYS)

    def fail(*_: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(PermissionError):
        prebuilt.save(tmp_path, FINGERPRINT, {})
    assert list(tmp_path.iterdir()) == [path]
    assert_equal(prebuilt.load(tmp_path, FINGERPRINT), ARRAYS)


@pytest.mark.parametrize("fingerprint", ["", "../../etc/passwd", FINGERPRINT[:32], FINGERPRINT.upper(), "/" * 64])
def test_names_come_from_fingerprints_alone(tmp_path: Path, fingerprint: str) -> None:
    with pytest.raises(ValueError, match="64 hex digits"):
        prebuilt.save(tmp_path, fingerprint, ARRAYS)
    with pytest.raises(ValueError, match="64 hex digits"):
        prebuilt.load(tmp_path, fingerprint)


def test_loading_while_others_save(tmp_path: Path) -> None:
    """Each load sees the whole of one save."""
    versions: list[dict[str, npt.NDArray[Any]]] = [
        {"a": np.full(50_000, n, np.uint32), "b": np.full(100, n, np.uint8)} for n in range(3)
    ]
    prebuilt.save(tmp_path, FINGERPRINT, versions[0])

    def save(number: int) -> None:
        for _ in range(20):
            prebuilt.save(tmp_path, FINGERPRINT, versions[number])

    threads = [threading.Thread(target=save, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        loaded = prebuilt.load(tmp_path, FINGERPRINT)
        assert loaded is not None
        assert_equal(loaded, versions[loaded["b"][0]])
    for thread in threads:
        thread.join()
    assert len(list(tmp_path.iterdir())) == 1
