/* base/cpu.h - what the processor can do: to tell a program that was compiled for another one,
 * before it dies of an illegal instruction. */
#ifndef PL_BASE_CPU_H
#define PL_BASE_CPU_H
#include <stdbool.h>

/* By the compiler's name of it ("avx2", "avx512f"); true for one that is not known here. */
bool pl_cpu_has(const char *feature);

#endif
