# What several threads read or change without a lock: numbers, and pointers that are set once.

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <windows.h>
    #include <intrin.h>
    static inline size_t earleymask_add(size_t *number, size_t n) {
    #if defined(_WIN64)
        return (size_t)_InterlockedExchangeAdd64((volatile __int64 *)number, (__int64)n);
    #else
        return (size_t)_InterlockedExchangeAdd((volatile long *)number, (long)n);
    #endif
    }
    static inline void *earleymask_load(void **place) {
        void *found = *(void *volatile *)place;
        MemoryBarrier();
        return found;
    }
    static inline void earleymask_publish(void **place, void *value) {
        MemoryBarrier();
        *(void *volatile *)place = value;
    }
    static inline size_t earleymask_now_is(size_t *number) { return *(volatile size_t *)number; }
    #else
    static inline size_t earleymask_add(size_t *number, size_t n) {
        return __atomic_fetch_add(number, n, __ATOMIC_RELAXED);
    }
    static inline size_t earleymask_now_is(size_t *number) { return __atomic_load_n(number, __ATOMIC_RELAXED); }
    static inline void *earleymask_load(void **place) { return __atomic_load_n(place, __ATOMIC_ACQUIRE); }
    static inline void earleymask_publish(void **place, void *value) { __atomic_store_n(place, value, __ATOMIC_RELEASE); }
    #endif
    """
    # Add n, which wraps around, and return the number before that.
    size_t add "earleymask_add"(size_t* number, size_t n) noexcept nogil
    # Return the number, as other threads have changed it.
    size_t value_of "earleymask_now_is"(size_t* number) noexcept nogil
    # A thread that loads a pointer sees all that was written to what it points to before the pointer was published.
    void* load "earleymask_load"(void** place) noexcept nogil
    void publish "earleymask_publish"(void** place, void* value) noexcept nogil
