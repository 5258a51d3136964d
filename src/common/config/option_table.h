/*
 * option_table.h - the flags of the programs: names, arguments, and actions. options.c
 * parses them, and option_help.c prints them.
 *
 * To add a flag: add a row to the table in option_table.c, a paragraph to the manual of
 * the program, such as raytrain-run(1), and the flag to the completions of both shells
 * (t/9020-options.t compares them). --help fits on a screen: a flag that few users need
 * is `rare`, and printed by --help=all.
 */
#ifndef RAYTRAIN_CONFIG_OPTION_TABLE_H
#define RAYTRAIN_CONFIG_OPTION_TABLE_H

#include "config/option_values.h"
#include "config/train_config.h"

/* Files are read before --set is applied, and --set before all other flags, regardless
 * of their order on the command line. The stage of a flag that is not configuration
 * does not matter. */
enum option_stage { STAGE_FLAG, STAGE_SET, STAGE_FILE };

/* Which program has a flag: a sum of these. */
enum option_program { OF_RUN = 1, OF_PREDICT = 2, OF_SERVE = 4, OF_RUNS = 3 };

/* The action of a flag: it sets a key of the configuration or a member of options, or a
 * function does more. */
struct flag {
    const char *name;
    char letter;          /* 0: none */
    /* The name in --help; NULL: no argument, "[...]": optional. */
    const char *argument;
    const char *doc;
    /* Of the configuration; without an argument it is set to true. */
    const char *key;
    size_t text;     /* offset of a char * in options, + 1; 0: none */
    size_t truth;    /* offset of a bool in options, + 1 */
    /* Terminated by NULL. words: the allowed values; offers: values that --help=all and
     * completions offer, where others are allowed, or checked elsewhere. */
    const char *const *words, *const *offers;
    enum option_stage stage;
    enum option_program of; /* 0: all */
    enum submit_line batch;
    bool rare; /* only --help=all prints it */
    int (*act)(const char *argument, struct options *opt, struct train_config *cfg,
               struct error *err);
};

#define FLAGS_MAX 80
extern const struct flag option_flags[];
extern const size_t n_option_flags; /* at most FLAGS_MAX */

bool flag_is_of(const struct flag *f, enum option_program program);

#endif
