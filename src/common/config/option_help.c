/* option_help.c - the texts of --help, from the table of flags. */
#include <stdio.h>
#include <string.h>

#include "config/config_key.h"
#include "config/data_config.h"
#include "config/option_table.h"
#include "config/options.h"
#include "config/train_config.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* A heading, before the first flag of its group. */
struct heading {
    const char *before, *title;
};

static const struct heading headings[] = {
    {"checkpoint", "The prediction"},
    {"last", "The model"},
    {"listen", "Requests"},
    {"workers", "Workers"},
    {"config", "Configuration"},
    {"name", "The run"},
    {"resume", "The run"},
    {"dry-run", "Output"},
};

static const char help_head[] =
    "Usage: raytrain-run [OPTION]... TRAIN_FUNC.so [ARG]...\n"
    "       raytrain-run [OPTION]... PROGRAM [ARG]...\n"
    "       raytrain-run [OPTION]... -- COMMAND [ARG]...\n"
    "Run a training function on N workers, under Slurm or on this machine.\n\n";

static const char predict_head[] =
    "Usage: raytrain-predict [OPTION]... --checkpoint PATH --data PATH -o FILE\n"
    "                        [PREDICT_FUNC.so|PROGRAM|-- COMMAND] [ARG]...\n"
    "Predict rows by the model of a checkpoint, on N workers.\n\n";

static const char serve_head[] =
    "Usage: raytrain-serve [OPTION]... RUN|CHECKPOINT|--models DIR [OPTION]...\n"
    "                      [PREDICT_FUNC.so|PROGRAM|-- COMMAND] [ARG]...\n"
    "Answer predictions by the model of a checkpoint, or by several, over HTTP.\n\n";

static const char beats[] =
    "Flags override --set, --set overrides files, and files override defaults.\n";

static const char run_tail[] =
    "Exit status: 0 finished, 1 training failed, 2 usage, 3 configuration or input,\n"
    "4 does not fit, 5 storage, 75 stopped on request: run again with --resume.\n";

static const char predict_tail[] =
    "Exit status: 0 finished, 1 prediction failed, 2 usage, 3 configuration or input,\n"
    "4 does not fit, 5 storage, 75 stopped on request: run again with --resume.\n";

static const char serve_tail[] =
    "Exit status: 0 ended on request, 1 no worker is left, 2 usage,\n"
    "3 configuration or input, 4 does not fit, 5 storage.\n";

static const char values_head[] = "\nValues of options:\n";

static const char keys_head[] =
    "\nKeys for --set KEY=VALUE and for files, raytrain.cfg(5):\n";

#define HELP_MAX 32768
#define COLUMNS  80

/* The title of the group that f begins; NULL: it does not begin one. after: the title
 * before. */
static const char *heading_of(const struct flag *f, const char *after)
{
    for (size_t i = 0; i < N(headings); i++)
        if (!strcmp(headings[i].before, f->name) &&
            (!after || strcmp(after, headings[i].title) != 0))
            return headings[i].title;
    return NULL;
}

static void help_add_flag(char *help, const struct flag *f)
{
    const char *argument = f->argument ? f->argument : "";
    char left[64], letter[8] = "    ";
    size_t n = strlen(help);

    if (f->letter)
        snprintf(letter, sizeof letter, "-%c, ", f->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, f->name,
             *argument && *argument != '[' ? " " : "", argument);
    snprintf(help + n, HELP_MAX - n, "%-31s %s\n", left, f->doc);
}

/* ---- Values, also for completions ---- */

/* The key of this name, with those of its groups; NULL: there is none. */
static const struct config_key *key_find(const struct config_table *table,
                                         const char *name)
{
    for (size_t i = 0; i < table->n_keys; i++) {
        const struct config_key *key = &table->keys[i];
        size_t n = strlen(key->name);

        if (strncmp(key->name, name, n) != 0)
            continue;
        if (!name[n])
            return key;
        if (name[n] == '.' && key->table)
            return key_find(key->table, name + n + 1);
    }
    return NULL;
}

/* The key that a flag sets; NULL: none. */
static const struct config_key *key_of(const struct flag *f)
{
    static const char datasets[] = "datasets.";
    const char *dot = f->key && !strncmp(f->key, datasets, sizeof datasets - 1)
                          ? strchr(f->key + sizeof datasets - 1, '.')
                          : NULL;

    if (!f->key || !f->argument)
        return NULL;
    return dot ? key_find(&dataset_config_table, dot + 1)
               : key_find(&train_config_table, f->key);
}

/* Value i of those that are listed for a flag; NULL: there is none. */
static const char *value_at(const struct flag *f, size_t i)
{
    const struct config_key *key = key_of(f);

    if (f->words || f->offers)
        return (f->words ? f->words : f->offers)[i];
    for (const struct config_choice *c = key ? key->choices : NULL; c && c->word; c++)
        if (!c->refused && i-- == 0)
            return c->word;
    return NULL;
}

/* "  NAME: VALUE, VALUE," and lines that continue it. */
static void values_list(const struct flag *f, FILE *out)
{
    const char *value = value_at(f, 0), *next;
    int column;

    if (!value)
        return;
    column = fprintf(out, "  %s:", f->name);
    for (size_t i = 1; value; value = next, i++) {
        next = value_at(f, i);
        if (column + (int)strlen(value) + 2 > COLUMNS)
            column = fprintf(out, "\n     ") - 1;
        column += fprintf(out, " %s%s", value, next ? "," : "");
    }
    fputc('\n', out);
}

static void help_add_values(char *help, enum option_program program)
{
    size_t n = strlen(help);
    FILE *out = fmemopen(help + n, HELP_MAX - n, "w");

    if (!out)
        return;
    fputs(values_head, out);
    for (size_t i = 0; i < n_option_flags; i++)
        if (flag_is_of(&option_flags[i], program))
            values_list(&option_flags[i], out);
    fclose(out);
}

static void help_add_keys(char *help)
{
    size_t n = strlen(help);
    FILE *out = fmemopen(help + n, HELP_MAX - n, "w");

    if (!out)
        return; /* the options are there */
    fputs(keys_head, out);
    config_list(&train_config_table, "", out);
    config_list(&dataset_config_table, "datasets.NAME.", out);
    fclose(out);
}

static const char *help_make(enum option_program program, bool with_rare,
                             const char *head, const char *tail, char *help)
{
    const char *title = NULL, *next;
    size_t n;

    snprintf(help, HELP_MAX, "%s", head);
    for (size_t i = 0; i < n_option_flags; i++) {
        if (!flag_is_of(&option_flags[i], program))
            continue;
        next = heading_of(&option_flags[i], title);
        n = strlen(help);
        if (next)
            snprintf(help + n, HELP_MAX - n, "%s:\n", title = next);
        if (with_rare || !option_flags[i].rare)
            help_add_flag(help, &option_flags[i]);
    }
    n = strlen(help);
    snprintf(help + n, HELP_MAX - n, "\n%s%s%s",
             with_rare ? "" : "--help=all prints the other options and keys.\n", beats,
             tail);
    if (with_rare) {
        help_add_values(help, program);
        help_add_keys(help);
    }
    return help;
}

const char *options_help(bool with_rare)
{
    static char help[HELP_MAX];

    return help_make(OF_RUN, with_rare, help_head, run_tail, help);
}

const char *options_help_predict(bool with_rare)
{
    static char help[HELP_MAX];

    return help_make(OF_PREDICT, with_rare, predict_head, predict_tail, help);
}

const char *options_help_serve(bool with_rare)
{
    static char help[HELP_MAX];

    return help_make(OF_SERVE, with_rare, serve_head, serve_tail, help);
}
