/* error.c - format and prefix errors; which exit status belongs to which code. */
#include "util/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, raytrain_status code, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    int saved = errno;
    va_list ap;

    if (err) {
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        err->code = code;
        memcpy(err->text, text, strlen(text) + 1);
    }
    errno = saved;
    return -1;
}

int error_no_memory(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

int error_prefix(struct error *err, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    int saved = errno;
    size_t used, rest;
    va_list ap;

    if (err) {
        va_start(ap, fmt);
        vsnprintf(text, sizeof text - 2, fmt, ap);
        va_end(ap);
        strcat(text, ": ");
        used = strlen(text);
        rest = strlen(err->text);
        if (rest > sizeof text - 1 - used)
            rest = sizeof text - 1 - used;
        memmove(err->text + used, err->text, rest);
        memcpy(err->text, text, used);
        err->text[used + rest] = '\0';
    }
    errno = saved;
    return -1;
}

int error_exit_status(raytrain_status code)
{
    switch (code) {
    case RAYTRAIN_OK:
    case RAYTRAIN_END:
        return 0;
    case RAYTRAIN_EUSAGE:
        return 2;
    case RAYTRAIN_EINVAL:
    case RAYTRAIN_ETYPE:
    case RAYTRAIN_ENOTFOUND:
    case RAYTRAIN_ENOTSUP:
        return 3;
    case RAYTRAIN_EFIT:
        return 4;
    case RAYTRAIN_ESTORAGE:
    case RAYTRAIN_ECORRUPT:
        return 5;
    case RAYTRAIN_ESTOPPED:
        return 75;
    case RAYTRAIN_ENOMEM:
    case RAYTRAIN_ECOMM:
    case RAYTRAIN_EFAILED:
        break;
    }
    return 1;
}

raytrain_status error_code_of(int exit_status)
{
    static const raytrain_status codes[] = {RAYTRAIN_EUSAGE, RAYTRAIN_EINVAL,
                                            RAYTRAIN_EFIT, RAYTRAIN_ESTORAGE};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (error_exit_status(codes[i]) == exit_status)
            return codes[i];
    return RAYTRAIN_EFAILED;
}
