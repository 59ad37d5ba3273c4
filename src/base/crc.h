/* base/crc.h - CRC-32C: the cyclic redundancy check with Castagnoli's polynomial (RFC 3720, 12.1).
 *
 * Bit by bit, without a table or a library: for records of some hundred bytes. */
#ifndef PL_BASE_CRC_H
#define PL_BASE_CRC_H
#include <stddef.h>
#include <stdint.h>

uint32_t pl_crc_castagnoli(const void *data, size_t n);

#endif
