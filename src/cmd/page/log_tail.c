/* log_tail.c - read the end of a file, and drop control sequences and overwritten text
 * from it. */
#include "config.h"

#include "page/log_tail.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/run_record.h"

#define TAIL_BYTES 16384

/* The last bytes of a regular file, NUL-terminated; NULL: there are none. */
static char *end_read(const char *path)
{
    int fd = record_open(path, RECORD_OF_ATTEMPT);
    char *bytes = NULL;
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        size_t n = st.st_size < TAIL_BYTES ? (size_t)st.st_size : TAIL_BYTES;

        bytes = calloc(n + 1, 1);
        if (bytes && fs_pread_full(fd, bytes, n, (uint64_t)st.st_size - n) < 0) {
            free(bytes);
            bytes = NULL;
        }
        for (size_t i = 0; bytes && i < n; i++) /* in a hole, or binary data */
            if (bytes[i] == '\0')
                bytes[i] = '?';
        if (bytes && (uint64_t)st.st_size > n && strchr(bytes, '\n'))
            memmove(bytes, strchr(bytes, '\n') + 1, strlen(strchr(bytes, '\n')));
    }
    close(fd);
    return bytes;
}

/* The length of an escape sequence such as ESC [ 31 m; 0: there is none. */
static size_t sequence_length(const char *s)
{
    size_t n = 2;

    if (s[0] != '\033' || s[1] != '[')
        return 0;
    n += strspn(s + n, "0123456789;:?<=>");
    return s[n] >= '@' && s[n] <= '~' ? n + 1 : 0;
}

/* Drop, in place, escape sequences and what precedes a carriage return within a
 * line. */
static void clean(char *text)
{
    char *to = text, *line = text;

    for (const char *c = text; *c;) {
        size_t n = sequence_length(c);

        if (n > 0) {
            c += n;
            continue;
        }
        if (*c == '\r' && c[1] != '\n' && c[1] != '\0')
            to = line;
        else if (*c != '\r')
            *to++ = *c;
        if (*c++ == '\n')
            line = to;
    }
    *to = '\0';
}

/* Where the last lines begin. */
static char *last_lines(char *text, int lines)
{
    char *at = text + strlen(text);

    if (at > text && at[-1] == '\n')
        *--at = '\0';
    while (at > text && !(at[-1] == '\n' && --lines <= 0))
        at--;
    return at;
}

int log_tail(const char *path, int lines, char **text, struct error *err)
{
    char *bytes = end_read(path), *from;

    *text = NULL;
    if (!bytes)
        return 0;
    clean(bytes);
    from = last_lines(bytes, lines);
    if (*from)
        *text = strdup(from);
    if (*from && !*text) {
        free(bytes);
        return error_no_memory(err);
    }
    free(bytes);
    return 0;
}
