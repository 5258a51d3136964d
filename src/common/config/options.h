/*
 * options.h - the command lines of raytrain-run, raytrain-predict and raytrain-serve:
 * flags that are configuration, and flags that are not. The former go straight into the
 * train_config: flags override --set, --set overrides the file, and the file overrides
 * the defaults, in any order on the command line.
 */
#ifndef RAYTRAIN_CONFIG_OPTIONS_H
#define RAYTRAIN_CONFIG_OPTIONS_H

#include <stdbool.h>

#include "config/option_values.h"
#include "config/train_config.h"

/* Fill opt and cfg, first from the site's file. Both are initialised here, and cleared
 * on failure. With --help or --version nothing else is checked. Errors are
 * RAYTRAIN_EUSAGE (unknown flag, missing operand) or those of the configuration. cfg is
 * not validated yet. --score METRIC means --score METRIC:max. Arguments replace those
 * of the file. */
int options_parse(int argc, char *argv[], struct options *opt, struct train_config *cfg,
                  struct error *err);
/* The same for raytrain-predict. */
int options_parse_predict(int argc, char *argv[], struct options *opt,
                          struct train_config *cfg, struct error *err);
/* The same for raytrain-serve, whose first operand is the checkpoint, unless --models
 * is given. */
int options_parse_serve(int argc, char *argv[], struct options *opt,
                        struct train_config *cfg, struct error *err);
/* After an error of the command line: add which words were taken for the function or
 * the command and for its arguments, if there are any. The user may have meant them as
 * options of this program. */
void options_note_operands(const struct options *opt, struct error *err);
void options_clear(struct options *opt);
/* The text of --help, which fits a screen, or of --help=all: one line of at most 80
 * columns for each option. The next call overwrites it. */
const char *options_help(bool all);
const char *options_help_predict(bool all);
const char *options_help_serve(bool all);

#endif
