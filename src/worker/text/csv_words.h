/* csv_words.h - merges the words of a column over all ranks. */
#ifndef RAYTRAIN_TEXT_CSV_WORDS_H
#define RAYTRAIN_TEXT_CSV_WORDS_H

#include "comm/comm.h"
#include "frame/dictionary.h"

/*
 * COLLECTIVE, with the same outcome on every rank: *all has the words of all ranks,
 * sorted by their bytes, so that codes do not depend on the number of ranks. codes[code
 * in own] is the code in *all; malloc'ed. If *own becomes *all, *own is NULL.
 */
int csv_words_merge(struct comm *comm, struct dictionary **own, struct dictionary **all,
                    int32_t **codes, struct error *err);

#endif
