/* What the compiler was told that the processor can do, by the names of base/cpu.h. Data alone:
 * code in this folder might not run on a processor that lacks any of it. */
#include "backends/native/native.h"

const char *const pl_native_needs[] = {
#ifdef __SSE4_2__
    "sse4.2",
#endif
#ifdef __AVX__
    "avx",
#endif
#ifdef __AVX2__
    "avx2",
#endif
#ifdef __FMA__
    "fma",
#endif
#ifdef __BMI__
    "bmi",
#endif
#ifdef __BMI2__
    "bmi2",
#endif
#ifdef __AVX512F__
    "avx512f",
#endif
#ifdef __AVX512BW__
    "avx512bw",
#endif
#ifdef __AVX512DQ__
    "avx512dq",
#endif
#ifdef __AVX512VL__
    "avx512vl",
#endif
#ifdef __AVX512CD__
    "avx512cd",
#endif
    NULL,
};
