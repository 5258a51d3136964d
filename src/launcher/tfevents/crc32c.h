/* crc32c.h - the checksum of the records in event files: CRC-32C (Castagnoli). */
#ifndef RAYTRAIN_TFEVENTS_CRC32C_H
#define RAYTRAIN_TFEVENTS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t n);
/* As records have it: rotated, and a constant added, so that the checksum of data that
 * contain checksums is sound. */
uint32_t crc32c_masked(const void *data, size_t n);

#endif
