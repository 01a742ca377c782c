// Atomic access to plain words of a shared mapping. std::atomic_ref cannot
// refer to const objects before C++26, and the reader's bytes are const.

#ifndef UNSPOOL_COLLECTORS_SPOOL_ATOMIC_ACCESS_H_
#define UNSPOOL_COLLECTORS_SPOOL_ATOMIC_ACCESS_H_

#include <type_traits>

namespace unspool::collectors {

// A naturally aligned word that needs no lock. Every function here is
// async-signal-safe.
template <typename T>
concept AtomicWord = std::is_integral_v<T> && sizeof(T) <= 8 &&
                     __atomic_always_lock_free(sizeof(T), nullptr);

template <AtomicWord T>
T LoadAcquire(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

template <AtomicWord T>
T LoadRelaxed(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

template <AtomicWord T>
void StoreRelease(T& word, std::type_identity_t<T> value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

template <AtomicWord T>
void StoreRelaxed(T& word, std::type_identity_t<T> value) {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

template <AtomicWord T>
T FetchAdd(T& word, std::type_identity_t<T> value) {
  return __atomic_fetch_add(&word, value, __ATOMIC_RELAXED);
}

template <AtomicWord T>
T FetchOr(T& word, std::type_identity_t<T> bits) {
  return __atomic_fetch_or(&word, bits, __ATOMIC_RELAXED);
}

// Replaces `expected`; false: *expected is what was found instead.
template <AtomicWord T>
bool CompareExchange(T& word, T* expected, std::type_identity_t<T> desired) {
  return __atomic_compare_exchange_n(&word, expected, desired, /*weak=*/false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_ATOMIC_ACCESS_H_
