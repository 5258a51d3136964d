/* missing_text.c - look a text up among those that mean a missing value. */
#include "util/missing_text.h"

#include <string.h>

/* Indexed by their length. */
static const char *const usual[] = {
    "",
    "",
    "NA",
    "NaNnanN/An/a#NA",
    "<NA>NULLnullNone-NaN-nan#N/A",
    "",
    "1.#IND",
    "-1.#IND1.#QNAN",
    "-1.#QNAN#N/A N/A",
};

/* Is the text in a list of texts of `n` bytes each? */
static bool is_among(const char *at, size_t n, const char *list)
{
    for (; *list; list += n)
        if (memcmp(at, list, n) == 0)
            return true;
    return false;
}

bool text_is_missing(const char *at, size_t n)
{
    if (n == 0)
        return true;
    /* A quick check: few other texts begin like one of these. */
    return n < sizeof usual / sizeof *usual &&
           (*at == 'N' || *at == 'n' || *at == '#' || *at == '<' || *at == '-' ||
            *at == '1') &&
           is_among(at, n, usual[n]);
}

static bool listed(const struct missing_texts *missing, const char *at, size_t n)
{
    for (size_t i = 0; i < missing->n; i++)
        if (strlen(missing->texts[i]) == n && memcmp(missing->texts[i], at, n) == 0)
            return true;
    return false;
}

bool missing_texts_have(const struct missing_texts *missing, const char *at, size_t n)
{
    return missing->n > 0 ? listed(missing, at, n) : text_is_missing(at, n);
}
