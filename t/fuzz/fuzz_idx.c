/*
 * fuzz_idx.c - reading any file as one of the format "idx" never crashes, hangs or leaks,
 * and rows that are accepted can be read. `make fuzz` builds it; run
 * t/fuzz/fuzz_idx CORPUS_DIR.
 */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    reader_try(&reader_idx, data, n);
    return 0;
}
