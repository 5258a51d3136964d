/*
 * screen.h - the two places where output of workers is shown, standard output and
 * standard error of this process, which may be the same terminal or file. Text is kept
 * until they take it, up to a bound.
 */
#ifndef RAYTRAIN_SHOW_SCREEN_H
#define RAYTRAIN_SHOW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct screen;

/* one: standard output is for other things. block: a progress block is on standard
 * error. log_dir is borrowed, for the message about lost lines. NULL without memory. */
struct screen *screen_create(bool one, bool block, const char *log_dir);
/* Is the block where this stream goes? Then only whole lines may be printed. */
bool screen_has_block(const struct screen *s, bool is_error);
/* Never waits. */
void screen_put(struct screen *s, bool is_error, const char *text, size_t n);
/* Lines were lost on their way here. */
void screen_lose(struct screen *s, uint64_t lines);
/* Give on what is kept. False: not all of it could be. */
bool screen_push(struct screen *s);
bool screen_has_lost(const struct screen *s);
/* Drops what is kept. NULL is fine. */
void screen_destroy(struct screen *s);

#endif
