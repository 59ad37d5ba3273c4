/* CRC-32C, bit by bit. */
#include "base/crc.h"

uint32_t pl_crc_castagnoli(const void *data, size_t n)
{
    const uint32_t polynomial = 0x82f63b78; /* 0x1edc6f41, lowest bit first */
    const uint8_t *byte = data;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        crc ^= byte[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return ~crc;
}
