/*
 * process_mark.h - find processes by a mark in their environment.
 *
 * A process passes its environment on to its children, even if they make themselves a
 * process group or a session, or get another parent. So an entry that is not used
 * elsewhere finds all of them, except those that were started with a cleared
 * environment.
 */
#ifndef RAYTRAIN_UTIL_PROCESS_MARK_H
#define RAYTRAIN_UTIL_PROCESS_MARK_H

/* Send SIGKILL to all processes that began with this entry ("NAME=value") in their
 * environment, except the calling one and those that it may not inspect, such as other
 * users'. Does not wait until they have ended. Does nothing without /proc. */
void process_mark_kill(const char *entry);

#endif
