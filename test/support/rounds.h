/* How often a test draws: under sanitizers, where each draw takes several times as long, fewer. The
 * full number runs in release builds. */
#ifndef PL_TEST_SUPPORT_ROUNDS_H
#define PL_TEST_SUPPORT_ROUNDS_H

/* gcc defines names for them, clang answers. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define PL_SANITIZED_THREADS 1
#else
#define PL_SANITIZED_THREADS 0
#endif
#if PL_SANITIZED_THREADS || defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define PL_SANITIZED 1
#else
#define PL_SANITIZED 0
#endif
#define ROUNDS_OF(n) (PL_SANITIZED ? (n) / 5 + 1 : (n))

#endif
