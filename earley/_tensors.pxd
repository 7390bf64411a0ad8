from libc.stdint cimport uint32_t

cdef uint32_t* words_of_tensor(object row, size_t* n_words) except? NULL
