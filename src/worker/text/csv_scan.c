/*
 * csv_scan.c - see csv_scan.h. An automaton with a table processes the bytes. Text as
 * other programs write it is scanned 64 bytes at a time instead, with a word of bits
 * for each kind of byte: if every opening quote is at the beginning of a field, or the
 * second of two, the bytes in quotes are those after an odd number of quotes (Langdale
 * and Lemire, "Parsing gigabytes of JSON per second", VLDB Journal 28(6), 2019).
 */
#include "text/csv_scan.h"

#include <endian.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define PART 4096 /* bytes between two merges of states that have become equal */

/* ---- The automaton ---- */

enum byte { PLAIN, BLANK, DELIMITER, QUOTE, END_OF_LINE, BYTE_KINDS };

#define ENDS 0x80 /* of a record */

/* clang-format off */
static const uint8_t next_state[CSV_STATES][BYTE_KINDS] = {
    /*               PLAIN       BLANK       DELIMITER   QUOTE       END_OF_LINE */
    [CSV_RECORD] = { CSV_PLAIN,  CSV_BLANKS, CSV_FIELD,  CSV_QUOTED, CSV_RECORD },
    [CSV_BLANKS] = { CSV_PLAIN,  CSV_BLANKS, CSV_FIELD,  CSV_PLAIN,  CSV_RECORD },
    [CSV_FIELD]  = { CSV_PLAIN,  CSV_PLAIN,  CSV_FIELD,  CSV_QUOTED, CSV_RECORD | ENDS },
    [CSV_PLAIN]  = { CSV_PLAIN,  CSV_PLAIN,  CSV_FIELD,  CSV_PLAIN,  CSV_RECORD | ENDS },
    [CSV_QUOTED] = { CSV_QUOTED, CSV_QUOTED, CSV_QUOTED, CSV_QUOTE,  CSV_QUOTED },
    [CSV_QUOTE]  = { CSV_PLAIN,  CSV_PLAIN,  CSV_FIELD,  CSV_QUOTED, CSV_RECORD | ENDS },
    [CSV_OPEN]   = { CSV_OPEN,   CSV_OPEN,   CSV_OPEN,   CSV_OPEN,   CSV_OPEN },
};
/* clang-format on */

static enum byte byte_of(char delimiter, char c)
{
    if (c == delimiter)
        return DELIMITER;
    switch (c) {
    case '"':
        return QUOTE;
    case '\n':
    case '\r':
        return END_OF_LINE;
    case ' ':
    case '\t':
        return BLANK;
    default:
        return PLAIN;
    }
}

/* The state after each byte, for every state before it. */
struct table {
    uint8_t next[CSV_STATES][256];
};

static void table_make(struct table *t, char delimiter)
{
    for (int state = 0; state < CSV_STATES; state++) {
        for (int c = 0; c < 256; c++)
            t->next[state][c] = next_state[state][byte_of(delimiter, (char)c)];
    }
}

static uint64_t walk(const struct table *t, uint8_t *state, const char *at,
                     const char *end)
{
    uint64_t records = 0;
    uint8_t s = *state;

    for (; at < end; at++) {
        s = t->next[s][(unsigned char)*at];
        records += s >> 7;
        s &= ENDS - 1;
    }
    *state = s;
    return records;
}

/* ---- Sixty-four bytes at a time ---- */

#define SPAN 64
#define LAST (UINT64_C(1) << 63)

/* A bit for each byte; the lowest one is for the first byte. */
struct bits {
    uint64_t quote, end, delimiter, blank;
};

#define BYTES(b) (UINT64_C(0x0101010101010101) * (unsigned char)(b))

/* Bits for those bytes of x that are c. */
static inline uint64_t eighth_mask(uint64_t x, char c, int eighth)
{
    const uint64_t low = BYTES(0x7f);

    x ^= BYTES(c);
    x = ~(((x & low) + low) | x | low);
    return (x >> 7) * UINT64_C(0x0102040810204080) >> 56 << (8 * eighth);
}

/* Spaces and tabs, unless they are the delimiter. */
static inline void blanks_of(char delimiter, char *space, char *tab)
{
    *tab = delimiter == '\t' ? ' ' : '\t';
    *space = delimiter == ' ' ? *tab : ' ';
}

static inline void bits_make(struct bits *b, char delimiter, const char *at)
{
    char space, tab;

    blanks_of(delimiter, &space, &tab);
    *b = (struct bits){0};
    for (int i = 0; i < 8; i++) {
        uint64_t x;

        memcpy(&x, at + 8 * i, sizeof x);
        x = le64toh(x);
        b->quote |= eighth_mask(x, '"', i);
        b->end |= eighth_mask(x, '\n', i) | eighth_mask(x, '\r', i);
        b->delimiter |= eighth_mask(x, delimiter, i);
        b->blank |= eighth_mask(x, space, i) | eighth_mask(x, tab, i);
    }
}

#ifdef __x86_64__

static inline uint64_t mask(__m128i equal, int quarter)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(equal) << (16 * quarter);
}

/* The same with SSE2, which all x86-64 processors have. */
static inline void bits_make_sse2(struct bits *b, char delimiter, const char *at)
{
    char space, tab;

    blanks_of(delimiter, &space, &tab);
    *b = (struct bits){0};
    for (int i = 0; i < 4; i++) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));

        b->quote |= mask(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), i);
        b->end |= mask(_mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('\n')),
                                    _mm_cmpeq_epi8(x, _mm_set1_epi8('\r'))),
                       i);
        b->delimiter |= mask(_mm_cmpeq_epi8(x, _mm_set1_epi8(delimiter)), i);
        b->blank |= mask(_mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8(space)),
                                      _mm_cmpeq_epi8(x, _mm_set1_epi8(tab))),
                         i);
    }
}

#define WIDE __attribute__((target("avx2,popcnt")))

WIDE static inline uint64_t wide_mask(__m256i equal, int half)
{
    return (uint64_t)(unsigned)_mm256_movemask_epi8(equal) << (32 * half);
}

WIDE static inline void bits_make_avx2(struct bits *b, char delimiter, const char *at)
{
    char space, tab;

    blanks_of(delimiter, &space, &tab);
    *b = (struct bits){0};
    for (int i = 0; i < 2; i++) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32 * i));

        b->quote |= wide_mask(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('"')), i);
        b->end |=
            wide_mask(_mm256_or_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('\n')),
                                      _mm256_cmpeq_epi8(x, _mm256_set1_epi8('\r'))),
                      i);
        b->delimiter |= wide_mask(_mm256_cmpeq_epi8(x, _mm256_set1_epi8(delimiter)), i);
        b->blank |=
            wide_mask(_mm256_or_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8(space)),
                                      _mm256_cmpeq_epi8(x, _mm256_set1_epi8(tab))),
                      i);
    }
}

#endif

/* Bit i is set if an odd number of bits are set up to it. */
static uint64_t parities(uint64_t x)
{
    for (int n = 1; n < 64; n *= 2)
        x ^= x << n;
    return x;
}

static unsigned ones(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* The state after the bytes; `ends` and `inside` as below. */
static uint8_t state_after(const struct bits *b, uint8_t before, uint64_t ends,
                           uint64_t inside)
{
    uint64_t others = ~b->blank;

    if (inside & LAST)
        return CSV_QUOTED;
    if (b->quote & LAST)
        return CSV_QUOTE;
    if (ends & LAST)
        return CSV_RECORD;
    if (b->delimiter & LAST)
        return CSV_FIELD;
    if (others & LAST)
        return CSV_PLAIN;
    if (others == 0)
        return before == CSV_RECORD || before == CSV_BLANKS ? CSV_BLANKS : CSV_PLAIN;
    return ends << __builtin_clzll(others) & LAST ? CSV_BLANKS : CSV_PLAIN;
}

/* False if these bytes, in this state, need the table. */
static inline bool leap(const struct bits *b, uint8_t *state, uint64_t *records)
{
    uint64_t inside =
        (b->quote ? parities(b->quote) : 0) ^ (*state == CSV_QUOTED ? UINT64_MAX : 0);
    uint64_t ends = b->end & ~inside;
    uint64_t before_quote = (ends | (b->delimiter & ~inside) | b->quote) << 1;
    uint64_t before_end = (b->blank & ~inside) << 1;
    uint64_t empty = ends << 1;

    before_quote |= *state == CSV_RECORD || *state == CSV_FIELD || *state == CSV_QUOTE;
    before_end |= *state == CSV_BLANKS;
    empty |= *state == CSV_RECORD;
    if ((b->quote & inside & ~before_quote) || (ends & before_end))
        return false;
    *records += ones(ends & ~empty);
    *state = state_after(b, *state, ends, inside);
    return true;
}

typedef void (*bits_func)(struct bits *b, char delimiter, const char *at);

__attribute__((always_inline)) static inline uint64_t
spans_walk(bits_func make, const struct table *t, char delimiter, uint8_t *state,
           const char *at, const char *end)
{
    uint64_t records = 0;
    struct bits b;

    for (; end - at >= SPAN; at += SPAN) {
        make(&b, delimiter, at);
        if (!leap(&b, state, &records))
            records += walk(t, state, at, at + SPAN);
    }
    return records + walk(t, state, at, end);
}

__attribute__((always_inline)) static inline size_t
spans_lines(bits_func make, const char *bytes, size_t n)
{
    size_t lines = 0;
    struct bits b;

    for (; n >= SPAN; bytes += SPAN, n -= SPAN) {
        make(&b, ',', bytes);
        lines += ones(b.end);
    }
    for (; n > 0; bytes++, n--)
        lines += *bytes == '\n' || *bytes == '\r';
    return lines;
}

/* ---- The function for each kind of processor ---- */

struct csv_way {
    const char *name;
    bool (*is_there)(void);
    uint64_t (*walk)(const struct table *t, char delimiter, uint8_t *state,
                     const char *at, const char *end);
    size_t (*lines)(const char *bytes, size_t n);
};

#define WAY(kind, make, target)                                                        \
    target static uint64_t walk_##kind(const struct table *t, char delimiter,          \
                                       uint8_t *state, const char *at,                 \
                                       const char *end)                                \
    {                                                                                  \
        return spans_walk(make, t, delimiter, state, at, end);                         \
    }                                                                                  \
    target static size_t lines_##kind(const char *bytes, size_t n)                     \
    {                                                                                  \
        return spans_lines(make, bytes, n);                                            \
    }

WAY(portable, bits_make, )
#ifdef __x86_64__
WAY(sse2, bits_make_sse2, )
WAY(avx2, bits_make_avx2, WIDE)

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}
#endif

static bool always(void)
{
    return true;
}

/* The fastest comes first. */
static const struct csv_way ways[] = {
#ifdef __x86_64__
    {"avx2", has_avx2, walk_avx2, lines_avx2},
    {"sse2", always, walk_sse2, lines_sse2},
#endif
    {"portable", always, walk_portable, lines_portable},
};

const struct csv_way *csv_way_at(size_t i)
{
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
        if (ways[k].is_there() && i-- == 0)
            return &ways[k];
    return NULL;
}

const char *csv_way_name(const struct csv_way *way)
{
    return way->name;
}

static uint64_t scan_run(const struct csv_way *way, const struct table *t,
                         char delimiter, uint8_t *state, const char *at,
                         const char *end)
{
    if (*state == CSV_OPEN ||
        (*state == CSV_QUOTED && !memchr(at, '"', (size_t)(end - at))))
        return 0;
    return way->walk(t, delimiter, state, at, end);
}

/* ---- Scans ---- */

void csv_scan_init(struct csv_scan *s)
{
    for (uint8_t i = 0; i < CSV_STATES; i++) {
        s->from[i].state = i;
        s->from[i].records = 0;
    }
}

/* The scan of some bytes for each state that is present. */
struct step {
    uint8_t state[CSV_STATES];
    uint64_t records[CSV_STATES];
};

static void step_take(struct csv_scan *s, const struct step *step)
{
    for (int i = 0; i < CSV_STATES; i++) {
        uint8_t now = s->from[i].state;

        s->from[i].state = step->state[now];
        s->from[i].records += step->records[now];
    }
}

void csv_scan_add_by(const struct csv_way *way, struct csv_scan *s, char delimiter,
                     const char *bytes, size_t n)
{
    struct table t;

    table_make(&t, delimiter);
    for (const char *at = bytes, *end; n > 0; at = end) {
        struct step step;
        unsigned present = 0;

        end = at + (n < PART ? n : PART);
        n -= (size_t)(end - at);
        for (int i = 0; i < CSV_STATES; i++)
            present |= 1u << s->from[i].state;
        for (uint8_t i = 0; i < CSV_STATES; i++) {
            step.state[i] = i;
            step.records[i] =
                present >> i & 1 ? scan_run(way, &t, delimiter, &step.state[i], at, end)
                                 : 0;
        }
        step_take(s, &step);
    }
}

void csv_scan_add(struct csv_scan *s, char delimiter, const char *bytes, size_t n)
{
    csv_scan_add_by(csv_way_at(0), s, delimiter, bytes, n);
}

void csv_scan_end(struct csv_scan *s)
{
    struct step step = {.records = {[CSV_FIELD] = 1, [CSV_PLAIN] = 1, [CSV_QUOTE] = 1}};

    for (int i = 0; i < CSV_STATES; i++)
        step.state[i] = i == CSV_QUOTED || i == CSV_OPEN ? CSV_OPEN : CSV_RECORD;
    step_take(s, &step);
}

void csv_scan_join(struct csv_scan *s, const struct csv_scan *next)
{
    struct step step;

    for (int i = 0; i < CSV_STATES; i++) {
        step.state[i] = next->from[i].state;
        step.records[i] = next->from[i].records;
    }
    step_take(s, &step);
}

/* ---- Single places ---- */

size_t csv_scan_line(char delimiter, enum csv_state *state, const char *bytes, size_t n,
                     bool *record)
{
    uint8_t s = (uint8_t)*state;
    size_t i = 0;

    *record = false;
    while (i < n) {
        enum byte byte = byte_of(delimiter, bytes[i++]);

        s = next_state[s][byte];
        if (byte == END_OF_LINE && (s & (ENDS - 1)) == CSV_RECORD) {
            *record = s & ENDS;
            s = CSV_RECORD;
            break;
        }
        s &= ENDS - 1;
    }
    *state = s;
    return i;
}

bool csv_scan_open_quote(char delimiter, enum csv_state *state, const char *bytes,
                         size_t n, size_t *at)
{
    uint8_t s = (uint8_t)*state;
    bool open = false;

    for (size_t i = 0; i < n; i++) {
        uint8_t before = s;

        s = next_state[s][byte_of(delimiter, bytes[i])] & (ENDS - 1);
        if (s == CSV_QUOTED && before != CSV_QUOTED && before != CSV_QUOTE) {
            *at = i;
            open = true;
        }
    }
    *state = s;
    return open && (s == CSV_QUOTED || s == CSV_QUOTE);
}

size_t csv_scan_lines_by(const struct csv_way *way, const char *bytes, size_t n)
{
    return way->lines(bytes, n);
}

size_t csv_scan_lines(const char *bytes, size_t n)
{
    return csv_scan_lines_by(csv_way_at(0), bytes, n);
}
