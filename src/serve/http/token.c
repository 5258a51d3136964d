/* token.c - make, read and compare the token. */
#include "http/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"

#define RANDOM_BYTES 32
#define TOKEN_MIN    16
#define TOKEN_MAX    4096

/* Check the open file itself, so that it is the one that is read. */
static int private_check(int fd, const char *path, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return fs_error(err, "read", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, RAYTRAIN_EINVAL, "%s is not a file for a token", path);
    if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "others may read the token in %s: it must be yours, and private; "
            "type: chmod 600 %s",
            path, path);
    return 0;
}

static bool is_token(const char *text)
{
    size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                            "0123456789-._~+/=");

    return n >= TOKEN_MIN && text[n] == '\0';
}

static int token_read(int fd, const char *path, char **token, struct error *err)
{
    char text[TOKEN_MAX + 1];
    ssize_t n = read(fd, text, TOKEN_MAX);

    if (n < 0)
        return fs_error(err, "read", path);
    text[n] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (!is_token(text))
        return error_set(
            err, RAYTRAIN_EINVAL,
            "there is no token in %s: it has a line of at least %d letters, "
            "digits and -._~+/=; remove the file, and a new token is made",
            path, TOKEN_MIN);
    *token = strdup(text);
    explicit_bzero(text, sizeof text);
    return *token ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for a token");
}

static int token_make(const char *path, struct error *err)
{
    unsigned char bytes[RANDOM_BYTES];
    char text[2 * RANDOM_BYTES + 2];

    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return error_set(err, RAYTRAIN_EFAILED, "no random numbers for a token: %s",
                         strerror(errno));
    for (size_t i = 0; i < RANDOM_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    text[2 * RANDOM_BYTES] = '\n';
    return fs_create(path, text, 2 * RANDOM_BYTES + 1, 0600, err);
}

int token_open(const char *path, char **token, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), rc;

    if (fd < 0 && errno == ENOENT) {
        /* Another service has made one */
        if (token_make(path, err) < 0 && errno != EEXIST)
            return -1;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    }
    if (fd < 0)
        return fs_error(err, "read", path);
    rc = private_check(fd, path, err);
    if (rc == 0)
        rc = token_read(fd, path, token, err);
    close(fd);
    return rc;
}

bool token_is_in(const char *authorization, const char *token)
{
    size_t n = strlen(token), n_given;
    const volatile unsigned char *a, *b = (const volatile unsigned char *)token;
    unsigned char differ = 0;

    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return false;
    authorization += 7;
    authorization += strspn(authorization, " ");
    n_given = strlen(authorization);
    /* Always as many steps as the given text has characters, regardless of where it
     * differs. */
    a = (const volatile unsigned char *)authorization;
    for (size_t i = 0; i < n_given; i++)
        differ |= a[i] ^ b[i % n];
    return differ == 0 && n_given == n;
}
