/*
 * number_text.h - numbers as the shortest text that reads back to the same bits, with a
 * point in any locale. number.h reads them.
 */
#ifndef RAYTRAIN_UTIL_NUMBER_TEXT_H
#define RAYTRAIN_UTIL_NUMBER_TEXT_H

#include <stddef.h>

#define NUMBER_TEXT 40 /* bytes, with the NUL */

/* Return the length. NaN is "nan", infinities are "inf" and "-inf". */
size_t number_text(char text[NUMBER_TEXT], double value);
/* The shortest text whose nearest float is this one. */
size_t number_text_float(char text[NUMBER_TEXT], float value);

#endif
