/* csv_words.h - the words of a column, over all ranks. */
#ifndef RAYTRAIN_TEXT_CSV_WORDS_H
#define RAYTRAIN_TEXT_CSV_WORDS_H

#include "comm/comm.h"
#include "frame/dictionary.h"

/*
 * COLLECTIVE: *all has the words of all ranks, by their bytes: the same codes on every
 * rank, and on any number of ranks. codes[code in own] is the code in *all; malloc'ed.
 * *own may become *all, and is NULL then. The result is agreed on.
 */
int csv_words_merge(struct comm *comm, struct dictionary **own, struct dictionary **all,
                    int32_t **codes, struct error *err);

#endif
