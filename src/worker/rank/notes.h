/*
 * notes.h - what the user should hear while the training goes on: events of the attempt
 * (protocol/events.h), which the launcher shows.
 *
 * A note that cannot be written is dropped: it must never be what ends a training, and
 * storage that is in trouble shows where it matters.
 */
#ifndef RAYTRAIN_RANK_NOTES_H
#define RAYTRAIN_RANK_NOTES_H

/* For the launcher, not for the user are NOTE_JOINED, the workers have come together,
 * and NOTE_STARTED, the training begins, and every rank listens to requests to stop. */
enum note_kind { NOTE, NOTE_WARNING, NOTE_RESTORED, NOTE_JOINED, NOTE_STARTED };

void note_add(const char *log_dir, enum note_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* This attempt starts from the checkpoint at `path`, which the line also names as
 * "checkpoint": the launcher keeps it in the attempt's record. */
void note_restored(const char *log_dir, const char *path, long iteration);

#endif
