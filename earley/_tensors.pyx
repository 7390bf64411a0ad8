"""The memory of a torch tensor, which is asked for at every mask that is written into one.

Torch 2.10 and later have a table of C functions that describe a tensor at once (`DLPackExchangeAPI` of DLPack 1.3);
the structures here are those of `dlpack.h`. Earlier versions are asked question by question.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from sys import modules

cdef enum:
    DLPACK_MAJOR = 1
    CPU = 1                                     # devices whose memory the processor reads and writes
    CUDA_HOST = 3                               # pinned
    ROCM_HOST = 11
    SIGNED_INTEGER = 0

cdef struct DataType:
    uint8_t code, bits
    uint16_t lanes

cdef struct Tensor:
    void* data
    int32_t device_type, device_id
    int32_t ndim
    DataType dtype
    int64_t* shape
    int64_t* strides                            # in items; NULL: without gaps
    uint64_t byte_offset

cdef struct ExchangeAPI:
    uint32_t major, minor
    void* previous
    void* managed_tensor_allocator
    void* managed_tensor_from_py_object
    void* managed_tensor_to_py_object
    int (*tensor_from_py_object)(void* tensor, Tensor* out) except -1   # may be NULL
    void* current_work_stream

cdef object torch = None                        # the module, if a tensor has been met
cdef object tensor_type = None                  # torch.Tensor
cdef ExchangeAPI* api = NULL                    # lives as long as torch, which is never unloaded


cdef uint32_t* words_of_tensor(object row, size_t* n_words) except? NULL:
    """Return the words of a torch tensor, and how many there are; NULL if it is not of int32 on the CPU, of one dimension
    and without gaps. The address is right until other Python code runs."""
    cdef Tensor found
    cdef void* address
    if torch is None and not meet_torch():
        return NULL
    if type(row) is not tensor_type:            # other classes may keep their numbers elsewhere
        return NULL
    # PERF: with the seven questions, a known mask takes 0.49 µs; to make a numpy array, four times as long as these.
    if api == NULL:
        return words_by_questions(row, n_words)
    try:
        api.tensor_from_py_object(<void*> row, &found)
    except (BufferError, RuntimeError, TypeError, ValueError):      # DLPack cannot describe it: it is on no device, sparse
        return NULL
    if (found.ndim != 1 or found.dtype.code != SIGNED_INTEGER or found.dtype.bits != 32 or found.dtype.lanes != 1
            or found.device_type not in (CPU, CUDA_HOST, ROCM_HOST)
            or found.shape[0] > 1 and found.strides != NULL and found.strides[0] != 1):
        return NULL
    address = <char*> found.data + found.byte_offset
    n_words[0] = <size_t> found.shape[0]
    return <uint32_t*> address


cdef uint32_t* words_by_questions(object row, size_t* n_words) except? NULL:
    if (row.is_cpu and row.dtype is torch.int32 and row.layout is torch.strided and row.dim() == 1
            and row.is_contiguous()):
        n_words[0] = row.numel()
        return <uint32_t*> <size_t> row.data_ptr()
    return NULL


cdef bint meet_torch() except -1:
    """Find torch, if it has been imported; return whether it has."""
    global torch, tensor_type, api
    cdef ExchangeAPI* found
    module = modules.get("torch")
    tensor_type = getattr(module, "Tensor", None)
    if tensor_type is None:                     # also while it is being imported
        return False
    capsule = getattr(tensor_type, "__dlpack_c_exchange_api__", None)
    if capsule is not None:
        found = <ExchangeAPI*> PyCapsule_GetPointer(capsule, b"dlpack_exchange_api")
        if found.major == DLPACK_MAJOR and found.tensor_from_py_object != NULL:
            api = found
    torch = module
    return True


def use_questions(bint is_wanted) -> None:
    """Ask tensors question by question from now on, as without DLPack; for tests."""
    global torch, api
    torch, api = None, NULL
    if is_wanted:
        meet_torch()
        api = NULL
