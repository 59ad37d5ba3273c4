/* How often a test draws: under sanitizers, where each draw takes several times as long, fewer. The
 * full number runs in release builds. */
#ifndef PL_TEST_SUPPORT_ROUNDS_H
#define PL_TEST_SUPPORT_ROUNDS_H

/* gcc defines names for them, clang answers. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PL_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PL_SANITIZED 1
#endif
#ifndef PL_SANITIZED
#define PL_SANITIZED 0
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PL_SANITIZED_THREADS 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define PL_SANITIZED_THREADS 1
#endif
#ifndef PL_SANITIZED_THREADS
#define PL_SANITIZED_THREADS 0
#endif
#define ROUNDS_OF(n) (PL_SANITIZED ? (n) / 5 + 1 : (n))

#endif
