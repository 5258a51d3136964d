/* secret.h - random text, known only to the processes that receive it. */
#ifndef RAYTRAIN_UTIL_SECRET_H
#define RAYTRAIN_UTIL_SECRET_H

#include "util/error.h"

/* 128 bits in hexadecimal digits, with the NUL. */
#define SECRET_TEXT_MAX 33

int secret_make(char text[SECRET_TEXT_MAX], struct error *err);

#endif
