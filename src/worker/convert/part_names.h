/* part_names.h - the names of what is in a part: attributes of the root, and a group
 * for each column, "columns/NUMBER_NAME", with attributes and arrays. */
#ifndef RAYTRAIN_CONVERT_PART_NAMES_H
#define RAYTRAIN_CONVERT_PART_NAMES_H

#include "frame/frame.h"

#define PART_VERSION        "raytrain_part"
#define PART_VERSION_NUMBER 1
#define PART_N_ROWS         "rows"
#define PART_COLUMNS        "columns"
#define PART_PATH_MAX       (RAYTRAIN_NAME_MAX + 64)

/* Attributes of a column. */
#define PART_NAME   "name"
#define PART_KIND   "kind"
#define PART_LENGTH "length" /* sparse: the length of the vectors */

/* Arrays of a column. */
#define PART_ROWS         "rows"         /* numbers */
#define PART_CODES        "codes"        /* words: index of the word; -1: missing */
#define PART_WORD_OFFSETS "word_offsets" /* one more than words */
#define PART_WORD_BYTES   "word_bytes"
#define PART_PLACES                                                                    \
    "places" /* text, sparse: for each row, its first element, and the number of them */
#define PART_BYTES   "bytes"   /* text */
#define PART_VALUES  "values"  /* sparse */
#define PART_INDICES "indices" /* sparse */

/* "numbers", "words", "text", "sparse" */
const char *part_kind_name(enum frame_kind kind);

#endif
