/*
 * python_script.c - read the lines of a Python script that import modules or call
 * trainers, without a parser of Python.
 */
#include "config/python_script.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/backend_row.h"

#define SCRIPT_BYTES_MAX ((off_t)16 << 20)

bool python_script_is(const char *path)
{
    size_t n = strlen(path);

    return n > 3 && !strcmp(path + n - 3, ".py");
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *blanks_skip(const char *at)
{
    return at + strspn(at, " \t");
}

/* The text after the word and blanks; NULL: it does not begin with the word. */
static const char *word_skip(const char *at, const char *word)
{
    size_t n = strlen(word);

    return !strncmp(at, word, n) && !is_word_char(at[n]) ? blanks_skip(at + n) : NULL;
}

/* Is the module, or one within it, among those of "import a, b.c as d" or "from
 * b.c"? */
static bool line_imports(const char *line, const char *module)
{
    const char *at = word_skip(blanks_skip(line), "from");

    if (at)
        return word_skip(at, module) != NULL;
    for (at = word_skip(blanks_skip(line), "import"); at;
         at = (at = strchr(at, ',')) ? blanks_skip(at + 1) : NULL)
        if (word_skip(at, module))
            return true;
    return false;
}

/* The better one of `best` and the backends whose modules the line imports
 * (backend_row.h says which is better). */
static const struct backend_row *line_backend(const char *line,
                                              const struct backend_row *best)
{
    for (const struct backend_row *row = backend_rows; row->name; row++)
        for (const char *const *module = row->modules; module && *module; module++)
            if ((!best || row->weight > best->weight ||
                 (row->weight == best->weight && row < best)) &&
                line_imports(line, *module))
                best = row;
    return best;
}

/* Does the line call this class? */
static bool line_calls(const char *line, const char *class)
{
    size_t n = strlen(class);

    for (const char *at = line; (at = strstr(at, class)); at += n)
        if ((at == line || !is_word_char(at[-1])) && *blanks_skip(at + n) == '(')
            return true;
    return false;
}

/* The class of a trainer that the line calls; NULL: none. */
static const char *line_trainer(const char *line)
{
    for (const struct backend_row *row = backend_rows; row->name; row++)
        if (row->trainer && line_calls(line, row->trainer))
            return row->trainer;
    return NULL;
}

/* Cut the comment off a line. A '#' in a string is taken for one, too. */
static void comment_cut(char *line)
{
    line[strcspn(line, "#\r\n")] = '\0';
}

static void lines_read(FILE *in, struct python_script *script)
{
    const struct backend_row *backend = NULL;
    size_t room = 0;
    bool of_raytrain = false;
    char *line = NULL;

    *script = (struct python_script){NULL, NULL};
    while (getline(&line, &room, in) > 0) {
        comment_cut(line);
        backend = line_backend(line, backend);
        of_raytrain = of_raytrain || line_imports(line, "raytrain");
        if (!script->trainer)
            script->trainer = line_trainer(line);
    }
    free(line);
    script->backend = backend ? backend->name : NULL;
    if (!of_raytrain) /* a trainer of Ray, or of another library */
        script->trainer = NULL;
}

bool python_script_read(const char *path, struct python_script *script)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    FILE *in;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > SCRIPT_BYTES_MAX ||
        !(in = fdopen(fd, "r"))) {
        close(fd);
        return false;
    }
    lines_read(in, script);
    fclose(in);
    return true;
}
