/* crc32c.c - CRC-32C by a table of 256 entries. */
#include "tfevents/crc32c.h"

#include <pthread.h>

#define POLYNOMIAL 0x82f63b78u /* bits reversed */
#define MASK       0xa282ead8u

static uint32_t table[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void table_fill(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        table[byte] = crc;
    }
}

uint32_t crc32c(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint32_t crc = 0xffffffffu;

    pthread_once(&once, table_fill);
    for (size_t i = 0; i < n; i++)
        crc = crc >> 8 ^ table[(crc ^ p[i]) & 0xff];
    return ~crc;
}

uint32_t crc32c_masked(const void *data, size_t n)
{
    uint32_t crc = crc32c(data, n);

    return (crc >> 15 | crc << 17) + MASK;
}
