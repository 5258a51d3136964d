/*
 * run_record.h - the files of a run directory: records, journals, logs. Another user
 * may have made them, or put something else in their place.
 *
 * A record is a regular file, and is opened without following links: a link could show
 * files that only this user may read to everyone who gets a page of the run. Opening it
 * does not wait either, as it would for a FIFO. `depth` is the number of components at
 * the end of a path that belong to the run and must not be links: 1 is the file alone,
 * 3 is logs/attempt-0/attempt.json. The directory of the run itself may be a link.
 *
 * A record that another user wrote may be shown. Before it is acted upon (an address
 * that gets a token, a file that it names), record_check_owner() has to agree.
 */
#ifndef RAYTRAIN_UTIL_RUN_RECORD_H
#define RAYTRAIN_UTIL_RUN_RECORD_H

#include <jansson.h>
#include <stddef.h>

#include "util/error.h"

#define RECORD_BYTES_MAX ((size_t)64 << 20) /* for a record that is read as a whole */

#define RECORD_OF_RUN     1 /* RUN/FILE */
#define RECORD_OF_LOG     2 /* RUN/logs/FILE */
#define RECORD_OF_SERVICE 3 /* RUN/serve/HOST.PID/FILE */
#define RECORD_OF_ATTEMPT 3 /* RUN/logs/attempt-K/FILE */
#define RECORD_OF_EVENT   4 /* RUN/logs/attempt-K/events/FILE */

/* Open a record for reading, even if another node has just created it. -1 and errno:
 * ELOOP for a link, EINVAL for anything else that is not a regular file. */
int record_open(const char *path, unsigned depth);
/* The same for a directory, "RUN/logs" for example. ENOTDIR if it is not one. */
int record_open_dir(const char *path, unsigned depth);

/* Read the whole record. *data is malloc'ed, with a NUL after its *n bytes (n may be
 * NULL). RAYTRAIN_ENOTFOUND if there is none, RAYTRAIN_ECORRUPT if it is not a regular
 * file, or is larger than RECORD_BYTES_MAX. */
int record_read(const char *path, unsigned depth, char **data, size_t *n,
                struct error *err);

/* The same as JSON: a new reference. NULL if it cannot be read, or is not JSON. */
json_t *record_read_json(const char *path, unsigned depth);
/* The same for an open record. */
json_t *record_parse_json(int fd);

/* record_read() for a file of any size. */
int record_read_large(const char *path, unsigned depth, char **data, size_t *n,
                      struct error *err);

/* Report that a line of this record is longer than RECORD_BYTES_MAX:
 * RAYTRAIN_ECORRUPT. */
int record_fail_line(const char *path, struct error *err);

/* May this process act on the contents of the open file? Only if it belongs to this
 * user or to root, and no other user may write it. RAYTRAIN_EINVAL, with its owner. */
int record_check_owner(int fd, const char *path, struct error *err);

/* record_read() with this check: foreign->code is RAYTRAIN_OK if the record may be
 * acted upon. */
int record_read_judged(const char *path, unsigned depth, char **data, size_t *n,
                       struct error *foreign, struct error *err);

/* Read a file that was found, not named by the user, and that is acted upon if
 * record_check_owner() agrees. It may be a link. */
int record_read_owned(const char *path, char **data, size_t *n, struct error *err);

/* May this process write files there that it reads again later? Not if the open
 * directory belongs to another user, who could replace its contents. Allowed are a
 * directory of root, one that its owner shares with this user by a group or an access
 * control list, but not with everyone, and one of the user to whom the storage gives
 * the files of this process. RAYTRAIN_EINVAL without advice: the caller knows of
 * another place. */
int record_check_dir(int fd, const char *path, struct error *err);

#endif
