/*
 * long_option.h - getopt_long() without abbreviations, so that an option that a later
 * version adds never changes the meaning of a command line.
 */
#ifndef RAYTRAIN_UTIL_LONG_OPTION_H
#define RAYTRAIN_UTIL_LONG_OPTION_H

#include <getopt.h>

#include "util/error.h"

/*
 * The next option, as getopt_long() returns it: its `val`, or -1 at the end. ':': an
 * argument is missing, and optopt is the option. '?': there is no such option, or it
 * takes no argument; err says so, names the nearest option, and ends with `help`, which
 * says how to list all of them. RAYTRAIN_EUSAGE.
 *
 * Short options begin with ":", or "+:".
 */
int long_option_next(int argc, char *argv[], const char *shorts,
                     const struct option *longs, const char *help, struct error *err);

#endif
