/*
 * screen.h - where the output of workers is shown: standard output and standard error
 * of this process, which may be the same terminal or file. Text is kept, up to a limit,
 * until they accept it.
 */
#ifndef RAYTRAIN_SHOW_SCREEN_H
#define RAYTRAIN_SHOW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct screen;

/* one: standard output is used for something else, so everything goes to standard
 * error. block: standard error has a progress block. log_dir is borrowed, for the
 * message about lost lines. NULL without memory. */
struct screen *screen_create(bool one, bool block, const char *log_dir);
void screen_set_log_dir(struct screen *s, const char *log_dir);
/* Does this stream go where the block is? Then only whole lines may be printed. */
bool screen_has_block(const struct screen *s, bool is_error);
/* Never waits. */
void screen_put(struct screen *s, bool is_error, const char *text, size_t n);
/* Count lines that were lost before they arrived here. */
void screen_lose(struct screen *s, uint64_t lines);
/* Write what is kept. False: some of it is still kept. */
bool screen_push(struct screen *s);
bool screen_has_lost(const struct screen *s);
/* Drops what is kept. NULL is fine. */
void screen_destroy(struct screen *s);

#endif
