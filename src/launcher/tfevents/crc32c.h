/* crc32c.h - the checksum of the records in event files: CRC-32C (Castagnoli). */
#ifndef RAYTRAIN_TFEVENTS_CRC32C_H
#define RAYTRAIN_TFEVENTS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t n);
/* The masked form in records: rotated, plus a constant, since a CRC of data that
 * contain CRCs is weak. */
uint32_t crc32c_masked(const void *data, size_t n);

#endif
