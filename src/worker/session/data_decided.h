/* data_decided.h - what has been decided about the data of a run (data_decisions.h). */
#ifndef RAYTRAIN_SESSION_DATA_DECIDED_H
#define RAYTRAIN_SESSION_DATA_DECIDED_H

#include <stdbool.h>
#include <stddef.h>

#include "config/data_config.h"

struct data_decisions {
    enum first_index first_index; /* FIRST_INDEX_AUTO: not decided */
    struct decided_texts {
        char **texts;
        size_t n;
    } missing,      /* none: the defaults */
        words;      /* names of columns of the training set */
    bool has_words; /* words is decided */
    /* The run began with a version without decisions: each file decides, as before. */
    bool by_file;
};

#endif
