/* vectorizer.h - the element of a token for hashing_vectorizer and feature_hasher: the
 * XXH64 of its bytes (seed 0), modulo the number of features. */
#ifndef RAYTRAIN_PREPROCESS_VECTORIZER_H
#define RAYTRAIN_PREPROCESS_VECTORIZER_H

#include <stddef.h>
#include <stdint.h>

uint32_t token_hash(const char *token, size_t n, uint32_t num_features);

#endif
