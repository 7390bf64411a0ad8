"""Masks are applied to logits as documented: in memory, by operations of torch, and by the kernel for GPUs.

The kernel runs in Triton's interpreter, because there may be no GPU: see `support/interpreted_kernel.py`.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from earleymask import Constraint, Matcher, apply_bitmask, applying, fill_bitmasks
from earleymask.applying import _apply_by_torch, _apply_on_device, _kernel
from earleymask.earley._apply import apply_rows

torch = pytest.importorskip("torch")

from support.applying_cases import TORCH_FLOATS, as_integers, cases  # noqa: E402  # it needs torch
from support.children import run_in_a_child  # noqa: E402
from support.effort import effort  # noqa: E402

LIST = r"""
start: "[" (ITEM ("," ITEM)~0..2)? "]"
ITEM: /[a-z]{1,3}/
"""
N_WORDS = 9  # ceil(257 / 32)
NUMPY_FLOATS = [np.float16, np.float32, np.float64]
WIDTHS = [(0, 2), (5, 1), (64, 2), (70, 3), (90, 2), (33, 0), (512, 16), (1000, 31), (1300, 33), (1056, 33)]
"""Logits and words of a row: narrower, as wide, wider; beyond the runs of eight words and not."""


@pytest.fixture
def _forget_the_kernel() -> Iterator[None]:
    _kernel.cache_clear()
    yield
    _kernel.cache_clear()


def matcher_at(text: str) -> Matcher:
    return Constraint(LIST).matcher(list(text.encode()))


def slowly(logits: np.ndarray, bitmask: np.ndarray) -> np.ndarray:
    """Apply a mask by the formula in the docstring of `apply_bitmask`."""
    out = logits.copy()
    for row in range(len(out)):
        for t in range(out.shape[1] if (bitmask[row] != -1).any() else 0):
            word = int(bitmask[row, t // 32]) if t // 32 < bitmask.shape[1] else 0
            if not (word >> (t % 32)) & 1:
                out[row, t] = -np.inf
    return out


shapes = st.tuples(st.integers(1, 3), st.integers(0, 100), st.integers(1, 4), st.integers(0, 2**32 - 1))


@given(shapes)
def test_applying_equals_the_formula(shape: tuple[int, int, int, int]) -> None:
    """It does for logits wider than the mask, narrower, and as wide, of every float type of numpy and torch."""
    n_rows, width, n_words, seed = shape
    rng = np.random.default_rng(seed)
    logits = np.round(rng.normal(size=(n_rows, width)), 1)
    bitmask = rng.integers(-(2**31), 2**31, size=(n_rows, n_words), dtype=np.int64).astype(np.int32)
    bitmask[rng.random(n_rows) < 0.3] = -1  # rows without a constraint
    expected = slowly(logits, bitmask)
    for numpy_type in [*NUMPY_FLOATS, np.longdouble, np.dtype(">f4")]:
        ours = logits.astype(numpy_type)
        apply_bitmask(ours, bitmask)
        assert ours.dtype == numpy_type and np.array_equal(ours, expected.astype(numpy_type))
    for torch_type in TORCH_FLOATS:
        for mask in (bitmask, torch.from_numpy(bitmask)):
            ours_t = torch.from_numpy(logits).to(torch_type)
            apply_bitmask(ours_t, mask)
            assert torch.equal(ours_t, torch.from_numpy(expected).to(torch_type))


@pytest.mark.parametrize("dtype", TORCH_FLOATS, ids=str)
def test_every_bit_is_that_of_the_formula(dtype: torch.dtype) -> None:
    """Logits of any bits, in any layout: what is allowed, and what lies between the rows, keeps its bits."""
    for case in cases(dtype, WIDTHS):
        expected = case.expected()
        apply_bitmask(case.logits, case.bitmask, indices=case.indices)
        assert np.array_equal(case.found(), expected), case.name
        assert case.logits._version > 0, "autograd is told"


@pytest.mark.parametrize("is_plain", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_every_bit_with_vectors_of_both_widths(dtype: torch.dtype, is_plain: bool) -> None:
    """A processor with AVX2 never takes the way of the others, which must write the same."""
    bits = {2: 0xFC00, 4: 0xFF80 << 16, 8: 0xFFF0 << 48}[dtype.itemsize]
    for case in cases(dtype, WIDTHS):
        expected = case.expected()
        apply_rows(case.logits.numpy(), case.bitmask.numpy(), case.indices, bits, is_plain)
        assert np.array_equal(case.found(), expected), case.name


@pytest.mark.parametrize("dtype", TORCH_FLOATS, ids=str)
def test_every_bit_by_operations_of_torch(dtype: torch.dtype) -> None:
    """The way for other devices is tested on the CPU, for there may be none."""
    for case in cases(dtype, WIDTHS):
        expected = case.expected()
        _apply_on_device(case.logits, case.bitmask, case.indices, is_plain=True)
        assert np.array_equal(case.found(), expected), case.name
        rows = None if case.indices is None else torch.tensor(case.indices)
        again = case.memory.clone()
        logits = again.as_strided(case.logits.shape, case.logits.stride(), case.logits.storage_offset())
        chosen = case.bitmask if case.indices is None else case.bitmask[case.indices]
        _apply_by_torch(logits, chosen, rows, None)
        assert np.array_equal(as_integers(again), expected), case.name


def test_one_row_without_a_batch() -> None:
    matcher = matcher_at("[a")
    row = np.zeros(N_WORDS, np.int32)
    matcher.fill_bitmask(row)
    logits = np.zeros(300, np.float32)
    apply_bitmask(logits, row)
    assert np.array_equal(np.isfinite(logits), np.pad(matcher.mask(), (0, 43)))
    tensor = torch.zeros(300)
    apply_bitmask(tensor, row)
    assert np.array_equal(tensor.numpy(), logits)
    odd = np.zeros(300, np.longdouble)
    apply_bitmask(odd, row)
    assert np.array_equal(odd, logits)


def test_views_are_changed_in_place() -> None:
    """Logits and masks may be views into larger tensors: strided, backwards, and not from the beginning."""
    bitmask = np.zeros((4, N_WORDS), np.int32)
    bitmask[2, 1] = 1 << 5
    whole = torch.zeros(3, 5, 300)
    apply_bitmask(whole[:, 4], torch.from_numpy(bitmask)[1:])
    assert torch.isfinite(whole[:, :4]).all()
    assert torch.isfinite(whole[:, 4]).nonzero().tolist() == [[1, 37]]
    columns = np.zeros((300, 3), np.float32)
    apply_bitmask(columns.T, bitmask[1:])
    assert np.argwhere(np.isfinite(columns)).tolist() == [[37, 1]]
    backwards = np.zeros((4, 300), np.float32)
    apply_bitmask(backwards[::-1, ::-1], bitmask)
    assert np.argwhere(np.isfinite(backwards)).tolist() == [[1, 262]]
    spread = np.zeros((4, 2 * N_WORDS), np.int32)
    spread[:, ::2] = bitmask
    logits = np.zeros((4, 300), np.float16)
    apply_bitmask(logits, spread[:, ::2])
    assert np.argwhere(np.isfinite(logits)).tolist() == [[2, 37]]


def test_memory_that_is_not_aligned() -> None:
    bitmask = np.random.default_rng(2).integers(-(2**31), 2**31, size=(2, 3), dtype=np.int64).astype(np.int32)
    logits = np.ones((2, 100), np.float32)
    expected = slowly(logits, bitmask)
    odd_logits = np.zeros(1 + logits.nbytes, np.uint8)[1:].view(np.float32).reshape(2, 100)
    odd_logits[:] = logits
    odd_mask = np.zeros(1 + bitmask.nbytes, np.uint8)[1:].view(np.int32).reshape(2, 3)
    odd_mask[:] = bitmask
    for each, mask in ((odd_logits, bitmask), (logits, odd_mask)):
        apply_bitmask(each, mask)
        assert np.array_equal(each, expected)


def test_more_logits_than_are_written_with_the_gil() -> None:
    rng = np.random.default_rng(4)
    bitmask = rng.integers(-(2**31), 2**31, size=(9, 4000), dtype=np.int64).astype(np.int32)
    logits = np.ones((9, 128_000), np.float16)
    apply_bitmask(logits, bitmask)
    allowed = np.unpackbits(bitmask.view(np.uint8), axis=-1, bitorder="little").astype(bool)
    assert np.array_equal(np.isfinite(logits), allowed)


def test_gradients_stop_at_refused_tokens() -> None:
    """In-place operations of torch are recorded; memory that is written past torch would not be."""
    bitmask = np.array([[0b1010]], np.int32)
    for indices in (None, [0]):
        given = torch.ones(1, 40, requires_grad=True)
        logits = given * 2
        apply_bitmask(logits, bitmask, indices=indices)
        assert torch.isfinite(logits).nonzero().tolist() == [[0, 1], [0, 3]]
        logits[:, [1, 3]].sum().backward()
        assert given.grad is not None and given.grad[0].nonzero().flatten().tolist() == [1, 3]
        with pytest.raises(RuntimeError, match="leaf"):
            apply_bitmask(torch.ones(1, 40, requires_grad=True), bitmask)
    # What autograd has saved must not change unnoticed.
    factor = torch.ones(1, 40, requires_grad=True)
    logits = torch.ones(1, 40)
    product = (factor * logits).sum()
    apply_bitmask(logits, bitmask)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_tensors_that_are_no_plain_memory() -> None:
    class Tensor(torch.Tensor):
        pass

    bitmask = torch.tensor([[0b1010]], dtype=torch.int32)
    for logits in (
        torch.ones(1, 40).as_subclass(Tensor),
        torch.imag(torch.conj(torch.zeros(1, 40, dtype=torch.complex64))),  # its memory has the other sign
    ):
        apply_bitmask(logits, bitmask)
        assert logits.isneginf().sum() == 38 and torch.isfinite(logits).nonzero().tolist() == [[0, 1], [0, 3]]
    with torch.inference_mode():
        logits = torch.ones(1, 40)
        apply_bitmask(logits, bitmask)
        assert torch.isfinite(logits).nonzero().tolist() == [[0, 1], [0, 3]]
    shared = torch.ones(1, 40).expand(2, 40)  # both masks apply to the one row that there is
    apply_bitmask(shared, torch.tensor([[0b1010], [0b0110]], dtype=torch.int32))
    assert torch.isfinite(shared[0]).nonzero().tolist() == [[1]]


def test_allowed_probabilities_keep_their_ratios() -> None:
    matcher = matcher_at("[a")
    rows = np.zeros((1, N_WORDS), np.int32)
    fill_bitmasks([matcher], rows)
    logits = torch.randn(1, 257, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    before = torch.softmax(logits, -1)[0]
    apply_bitmask(logits, rows)
    after = torch.softmax(logits, -1)[0]
    allowed = torch.from_numpy(matcher.mask())
    assert after[~allowed].sum() == 0
    assert torch.allclose(after[allowed], before[allowed] / before[allowed].sum(), rtol=1e-12)


@pytest.mark.parametrize(
    ("logits", "bitmask", "error"),
    [
        (np.zeros((1, 32), np.int64), np.zeros((1, 1), np.int32), TypeError),
        (torch.zeros(1, 32, dtype=torch.int32), np.zeros((1, 1), np.int32), TypeError),
        (torch.zeros(1, 32).to(torch.float8_e4m3fn), np.zeros((1, 1), np.int32), TypeError),
        ([[0.0]], np.zeros((1, 1), np.int32), TypeError),
        (np.zeros((1, 32)), np.zeros((1, 1), np.int64), TypeError),
        (np.zeros((1, 32)), np.zeros((1, 1), np.uint32), TypeError),
        (np.zeros((1, 32)), [[0]], TypeError),
        (torch.zeros(1, 32), torch.zeros(1, 1, dtype=torch.bool), TypeError),
        (torch.zeros(1, 32), np.zeros((1, 1), np.int64), TypeError),
        (torch.zeros(1, 32), [[0]], TypeError),
        (np.zeros((2, 32)), np.zeros((1, 1), np.int32), ValueError),
        (torch.zeros(2, 32), np.zeros((1, 1), np.int32), ValueError),
        (np.zeros(32), np.zeros((1, 1), np.int32), ValueError),
        (np.zeros((1, 1, 32)), np.zeros((1, 1, 1), np.int32), ValueError),
        (np.array(0.0), np.array(0, np.int32), ValueError),
        (np.broadcast_to(np.zeros(32), (2, 32)), np.zeros((2, 1), np.int32), ValueError),
    ],
)
def test_what_cannot_be_masked_is_refused(logits: object, bitmask: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        apply_bitmask(logits, bitmask)


@pytest.mark.parametrize(
    ("logits", "words", "places"),
    [
        (np.zeros((2, 9), np.int8), np.zeros((2, 1), np.int32), None),
        (np.zeros((2, 9), np.int16), np.zeros((2, 1), np.int64), None),
        (np.zeros((2, 9), np.int16), np.zeros((3, 1), np.int32), None),
        (np.zeros((2, 9), np.int16), np.zeros(1, np.int32), None),
        (np.zeros((2, 9), np.int16), np.zeros((2, 4), np.int32)[:, ::2], None),
        (np.zeros(19, np.uint8)[1:].view(np.int16), np.zeros(1, np.int32), None),
        (np.zeros((2, 9), np.int16), np.zeros((3, 1), np.int32), [0, 2]),
    ],
)
def test_memory_that_does_not_fit_is_not_written(logits: np.ndarray, words: np.ndarray, places: list[int]) -> None:
    with pytest.raises((ValueError, IndexError)):
        apply_rows(logits, words, places, 1)
    assert not logits.any()


# -- on a GPU ---------------------------------------------------------------------------------------------------------


needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs triton")


@needs_triton
def test_the_kernel_in_tritons_interpreter() -> None:
    """The interpreter is chosen before triton is imported, so this needs a process of its own."""
    assert int(run_in_a_child("support.interpreted_kernel", TRITON_INTERPRET="1").split()[0]) >= effort(85, 250)


@needs_triton
def test_the_kernel_compiles_to_stores_of_sixteen_bytes() -> None:
    """The compiler needs no GPU."""
    stores = json.loads(run_in_a_child("support.compiled_kernel"))
    assert len(stores) == 8
    for name, found in stores.items():
        assert found == (["st.global.v2.b64"] if "float64" in name else ["st.global.v4.b32"]), name


@pytest.mark.usefixtures("_forget_the_kernel")
def test_without_triton_operations_of_torch_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying, "_has_kernel", lambda logits: True)
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, "earleymask.integration.triton_apply", raising=False)
    logits = torch.zeros(2, 40)
    with pytest.warns(RuntimeWarning, match="triton is not installed"):
        _apply_on_device(logits, torch.tensor([[1], [-1]], dtype=torch.int32), None, is_plain=True)
    assert torch.isfinite(logits).sum(dim=1).tolist() == [1, 40]
    _apply_on_device(logits, torch.tensor([[1], [6]], dtype=torch.int32), [1], is_plain=True)  # it warns once
    assert torch.isfinite(logits).nonzero().tolist() == [[0, 0], [1, 1], [1, 2]]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("has_kernel", [False, True])
@pytest.mark.parametrize("dtype", TORCH_FLOATS, ids=str)
def test_logits_on_a_gpu(dtype: torch.dtype, has_kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying, "_has_kernel", lambda logits: has_kernel)
    for case in cases(dtype, [*WIDTHS, (9000, 250)]):
        expected = case.expected()
        for mask in (case.bitmask.numpy(), case.bitmask, case.bitmask.pin_memory(), case.bitmask.cuda()):
            memory = case.memory.cuda()
            logits = memory.as_strided(case.logits.shape, case.logits.stride(), case.logits.storage_offset())
            apply_bitmask(logits, mask, indices=case.indices)
            assert np.array_equal(as_integers(memory.cpu()), expected), case.name
