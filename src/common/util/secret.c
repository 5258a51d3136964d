/* secret.c - random digits from getentropy(3). */
#include "util/secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int secret_make(char text[SECRET_TEXT_MAX], struct error *err)
{
    unsigned char bytes[(SECRET_TEXT_MAX - 1) / 2];

    if (getentropy(bytes, sizeof bytes) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "no random numbers: getentropy: %s",
                         strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
    return 0;
}
