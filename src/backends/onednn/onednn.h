/* backends/onednn/onednn.h - matrix products, convolutions and transpositions by oneDNN. */
#ifndef PL_BACKENDS_ONEDNN_ONEDNN_H
#define PL_BACKENDS_ONEDNN_ONEDNN_H
#include "run/kernel.h"

extern const pl_backend pl_backend_onednn;

/* "oneDNN 2.6.3, AVX-512 and AMX (bf16, int8), 2 threads": what the library may use here. Writes at
 * most n bytes, the ending 0 included; false when the text was cut. */
bool pl_onednn_isa(char *text, size_t n);

#endif
