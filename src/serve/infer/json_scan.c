/* json_scan.c - a scanner of JSON without a tree. The grammar is that of RFC 8259. */
#include "infer/json_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/number.h"
#include "util/quote.h"

#define KEY_MAX 64

void json_scan_init(struct json_scan *s, const char *bytes, size_t n)
{
    *s = (struct json_scan){.begin = bytes, .at = bytes, .end = bytes + n};
}

bool json_scan_wrong(struct json_scan *s, const char *fmt, ...)
{
    va_list args;

    if (s->wrong[0])
        return false;
    va_start(args, fmt);
    vsnprintf(s->wrong, sizeof s->wrong, fmt, args);
    va_end(args);
    return false;
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

char json_scan_peek(struct json_scan *s)
{
    while (s->at < s->end && is_space(*s->at))
        s->at++;
    return s->at < s->end && !s->wrong[0] ? *s->at : '\0';
}

const char *json_kind(char first)
{
    static const struct {
        char first;
        const char *kind;
    } kinds[] = {{'"', "a string"}, {'{', "an object"}, {'[', "a list"},
                 {'t', "true"},     {'f', "false"},     {'n', "null"},
                 {'N', "NaN"},      {'I', "Infinity"},  {'\0', "missing"}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].first == first)
            return kinds[i].kind;
    return first == '-' || (first >= '0' && first <= '9') ? "a number" : "not a value";
}

static bool begins_with(const struct json_scan *s, const char *text)
{
    size_t n = strlen(text);

    return (size_t)(s->end - s->at) >= n && memcmp(s->at, text, n) == 0;
}

/* The same for what follows, where a word is shown as a whole. */
static const char *kind_here(struct json_scan *s)
{
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity"};
    char first = json_scan_peek(s);

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i][0] == first && !begins_with(s, words[i]))
            return "a word that JSON does not have";
    return json_kind(first);
}

static bool expected(struct json_scan *s, const char *what)
{
    const char *kind = kind_here(s);

    return json_scan_wrong(s, "there should be %s, and it is %s", what, kind);
}

/* ---- Lists and objects ---- */

static bool deeper(struct json_scan *s)
{
    if (s->depth == JSON_DEPTH_MAX)
        return json_scan_wrong(s, "lists and objects are more than %d deep",
                               JSON_DEPTH_MAX);
    s->depth++;
    s->at++;
    return true;
}

bool json_scan_open(struct json_scan *s, char bracket)
{
    if (json_scan_peek(s) != bracket)
        return expected(s, json_kind(bracket));
    return deeper(s);
}

bool json_scan_more(struct json_scan *s, char bracket, bool *first)
{
    char c = json_scan_peek(s);

    if (c == bracket) {
        s->at++;
        s->depth--;
        return false;
    }
    if (*first) {
        *first = false;
        return c ? true : json_scan_wrong(s, "a '%c' is missing", bracket);
    }
    if (c != ',')
        return json_scan_wrong(s, "a ',' or '%c' is missing", bracket);
    s->at++;
    return true;
}

int json_scan_member(struct json_scan *s, const char *const keys[], size_t n,
                     uint32_t *seen)
{
    char key[KEY_MAX];
    size_t length, i = 0;

    if (json_scan_peek(s) != '"') {
        expected(s, "a name in quotes");
        return -1;
    }
    if (!json_scan_string(s, key, sizeof key, &length))
        return -1;
    if (json_scan_peek(s) != ':') {
        json_scan_wrong(s, "a ':' is missing");
        return -1;
    }
    s->at++;
    while (i < n && (strlen(keys[i]) != length || memcmp(keys[i], key, length) != 0))
        i++;
    if (i < n && *seen >> i & 1) {
        json_scan_wrong(s, "\"%s\" is there twice", keys[i]);
        return -1;
    }
    *seen |= (uint32_t)(i < n) << i;
    return (int)i;
}

/* ---- Strings ---- */

static bool hex4(struct json_scan *s, unsigned *code)
{
    *code = 0;
    if (s->end - s->at < 4)
        return json_scan_wrong(s, "a \\u has not four digits");
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *found = memchr(digits, *s->at, 32);

        if (!found)
            return json_scan_wrong(s, "a \\u has not four digits");
        *code = *code << 4 | (unsigned)((found - digits) & 15);
        s->at++;
    }
    return true;
}

/* After "\u": decode a character, which may take a pair of surrogates. Returns its
 * bytes. */
static size_t unicode(struct json_scan *s, char out[4])
{
    unsigned code, low;

    if (!hex4(s, &code))
        return 0;
    if (code >= 0xd800 && code <= 0xdfff) {
        if (code > 0xdbff || s->end - s->at < 2 || memcmp(s->at, "\\u", 2) != 0) {
            json_scan_wrong(s, "half of a surrogate pair is missing");
            return 0;
        }
        s->at += 2;
        if (!hex4(s, &low))
            return 0;
        if (low < 0xdc00 || low > 0xdfff) {
            json_scan_wrong(s, "half of a surrogate pair is missing");
            return 0;
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Decode what follows a backslash. */
static size_t escaped(struct json_scan *s, char out[4])
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *found = s->at < s->end ? memchr(names, *s->at, 8) : NULL;

    if (found) {
        s->at++;
        out[0] = values[found - names];
        return 1;
    }
    if (s->at == s->end || *s->at != 'u') {
        json_scan_wrong(s, "a backslash has no meaning");
        return 0;
    }
    s->at++;
    return unicode(s, out);
}

/* Copy one character that is not plain ASCII. Returns the number of its bytes; 0: not
 * valid. */
static size_t character(struct json_scan *s, char out[4])
{
    int n;

    if (*s->at == '\\') {
        s->at++;
        return escaped(s, out);
    }
    if ((unsigned char)*s->at < ' ') {
        json_scan_wrong(s, "a string has a control character");
        return 0;
    }
    n = utf8_length_within(s->at, (size_t)(s->end - s->at));
    if (n == 0) {
        json_scan_wrong(s, "a string is not UTF-8");
        return 0;
    }
    memcpy(out, s->at, (size_t)n);
    s->at += n;
    return (size_t)n;
}

static const char *plain_end(const char *at, const char *end)
{
    while (at < end && *at >= ' ' && *at != '"' && *at != '\\')
        at++;
    return at;
}

static void append(char *to, size_t room, size_t *n, const char *bytes, size_t more)
{
    if (*n < room && more > 0)
        memcpy(to + *n, bytes, more < room - *n ? more : room - *n);
    *n += more;
}

bool json_scan_string(struct json_scan *s, char *to, size_t room, size_t *n)
{
    *n = 0;
    if (json_scan_peek(s) != '"')
        return expected(s, "a string");
    s->at++;
    for (;;) {
        const char *plain = plain_end(s->at, s->end);
        char out[4];
        size_t more;

        append(to, room, n, s->at, (size_t)(plain - s->at));
        s->at = plain;
        if (s->at == s->end)
            return json_scan_wrong(s, "a string does not end");
        if (*s->at == '"') {
            s->at++;
            return true;
        }
        more = character(s, out);
        if (more == 0)
            return false;
        append(to, room, n, out, more);
    }
}

/* ---- Numbers and words ---- */

static inline bool is_digit(const struct json_scan *s, const char *at)
{
    return at < s->end && *at >= '0' && *at <= '9';
}

/* number_float64() accepts more than JSON does: "+1", "01", ".5", "1." and words.
 * Returns what is wrong with a number that begins with a digit or '-' and ends at
 * `end`, or NULL. */
static inline const char *number_fault(const struct json_scan *s, const char *at,
                                       const char *end)
{
    at += *at == '-';
    if (!is_digit(s, at))
        return "a '-' is not followed by a digit";
    if (*at == '0' && is_digit(s, at + 1))
        return "a number has a leading zero";
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    if (at < end && *at == '.' && !is_digit(s, at + 1))
        return "a number has no digit after its point";
    if (end < s->end && (*end == 'e' || *end == 'E'))
        return "a number has no digit in its exponent";
    return NULL;
}

const char *json_scan_number(struct json_scan *s, double *value)
{
    char first = json_scan_peek(s);
    const char *at = s->at, *end, *fault;

    if (first != '-' && (first < '0' || first > '9')) {
        expected(s, "a number");
        return NULL;
    }
    end = number_float64(at, s->end, value);
    fault = number_fault(s, at, end);
    if (fault) {
        json_scan_wrong(s, "%s", fault);
        return NULL;
    }
    s->at = end;
    return at;
}

bool json_scan_integer(struct json_scan *s, int64_t *value)
{
    double x;
    const char *at = json_scan_number(s, &x);

    if (!at)
        return false;
    if (number_int64(at, s->at, value) == s->at)
        return true;
    s->at = at;
    return json_scan_wrong(s, "there should be an integer of 64 bits");
}

static bool word(struct json_scan *s, const char *text)
{
    if (!begins_with(s, text))
        return false;
    s->at += strlen(text);
    return true;
}

bool json_scan_bool(struct json_scan *s, bool *value)
{
    char c = json_scan_peek(s);

    *value = c == 't';
    if ((c == 't' && word(s, "true")) || (c == 'f' && word(s, "false")))
        return true;
    return expected(s, "true or false");
}

/* ---- Values that are skipped ---- */

static bool members_skip(struct json_scan *s)
{
    bool first = true;
    uint32_t seen = 0;

    if (!json_scan_open(s, '{'))
        return false;
    while (json_scan_more(s, '}', &first))
        if (json_scan_member(s, NULL, 0, &seen) < 0 || !json_scan_skip(s))
            return false;
    return !s->wrong[0];
}

static bool values_skip(struct json_scan *s)
{
    bool first = true;

    if (!json_scan_open(s, '['))
        return false;
    while (json_scan_more(s, ']', &first))
        if (!json_scan_skip(s))
            return false;
    return !s->wrong[0];
}

bool json_scan_skip(struct json_scan *s)
{
    double x;
    bool b;
    size_t n;

    switch (json_scan_peek(s)) {
    case '{':
        return members_skip(s);
    case '[':
        return values_skip(s);
    case '"':
        return json_scan_string(s, NULL, 0, &n);
    case 't':
    case 'f':
        return json_scan_bool(s, &b);
    case 'n':
        return word(s, "null") || expected(s, "a value");
    default:
        return json_scan_number(s, &x) != NULL;
    }
}

static bool quoted_skip(struct json_scan *s)
{
    for (s->at++; s->at < s->end; s->at++)
        if (*s->at == '"') {
            s->at++;
            return true;
        } else if (*s->at == '\\' && s->at + 1 < s->end) {
            s->at++;
        }
    return json_scan_wrong(s, "a string does not end");
}

bool json_scan_skip_list(struct json_scan *s)
{
    unsigned outside = s->depth;

    if (!json_scan_open(s, '['))
        return false;
    while (s->at < s->end) {
        char c = *s->at;

        if (c == '"') {
            if (!quoted_skip(s))
                return false;
        } else if (c == '[' || c == '{') {
            if (!deeper(s))
                return false;
        } else {
            s->at++;
            if ((c == ']' || c == '}') && --s->depth == outside)
                return true;
        }
    }
    return json_scan_wrong(s, "a ']' is missing");
}

bool json_scan_done(struct json_scan *s)
{
    json_scan_peek(s);
    if (s->at < s->end)
        return json_scan_wrong(s, "something follows after the end of the object");
    return !s->wrong[0];
}
