/*
 * process_mark.h - find processes by a mark in their environment.
 *
 * A process hands its environment on to its children, also to those that make
 * themselves a process group, a session or a new parent. So an entry that is nowhere
 * else finds all of them, but for those that were started with a cleared environment.
 */
#ifndef RAYTRAIN_UTIL_PROCESS_MARK_H
#define RAYTRAIN_UTIL_PROCESS_MARK_H

/* Send SIGKILL to all processes that began with this entry ("NAME=value") in their
 * environment, but for the calling one and those at which it may not look, such as other
 * users'. Does not wait for their ends. Without /proc, nothing. */
void process_mark_kill(const char *entry);

#endif
