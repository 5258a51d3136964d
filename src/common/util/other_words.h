/*
 * other_words.h - what the options and keys of other programs are called here: those of
 * torchrun, mpiexec, srun, Accelerate, Ray Train and XGBoost.
 */
#ifndef RAYTRAIN_UTIL_OTHER_WORDS_H
#define RAYTRAIN_UTIL_OTHER_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct other_word {
    const char *word; /* in lower case, with '_' */
    const char *here; /* the name here; NULL: there is nothing like it */
    const char *why;  /* a sentence about it; may be NULL */
};

/* Find the option with this name of n bytes ("nproc-per-node"), in upper or lower case,
 * with '-' or '_'. NULL: it is not known. */
const struct other_word *other_option(const char *name, size_t n);
/* Find a key at the top of a configuration if `top`, else a key of a dataset. */
const struct other_word *other_key(const char *name, bool top);
/* Is this the name of a parameter of XGBoost or LightGBM, as in params? */
bool is_tree_parameter(const char *name);

#endif
