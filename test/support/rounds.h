/* How often a test draws: under sanitizers, where each draw takes several times as long, fewer. The
 * full number runs in release builds. */
#ifndef PL_TEST_SUPPORT_ROUNDS_H
#define PL_TEST_SUPPORT_ROUNDS_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PL_SANITIZED 1
#else
#define PL_SANITIZED 0
#endif
#define ROUNDS_OF(n) (PL_SANITIZED ? (n) / 5 + 1 : (n))

#endif
