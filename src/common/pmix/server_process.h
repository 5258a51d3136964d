/*
 * server_process.h - the process of an embedded PMIx server, raytrain-pmix, which
 * exchanges messages with its owner (message.h). It ends when the owner closes its end,
 * and dies with the thread of the owner that started it, until it is asked to outlive
 * it: then it ends when no other process holds the private directory.
 *
 * A process of its own, because libpmix 4.2 cannot be started a second time in a
 * process, nor beside a client; because its threads, leaks and crashes stay out of the
 * owner; and because it is stopped by killing it, which cannot hang whatever its clients
 * do.
 */
#ifndef RAYTRAIN_PMIX_SERVER_PROCESS_H
#define RAYTRAIN_PMIX_SERVER_PROCESS_H

struct pmix_group;

/* To be called first in the process, with the descriptor of the server's end: close all
 * others except standard error, ignore signals that ask a process to end. Returns the
 * new descriptor. */
int pmix_server_detach(int fd);
/* Serve the namespace of the owner's first message, until the owner closes its end. */
void pmix_server_run(int socket, const struct pmix_group *group,
                     const char *private_dir) __attribute__((noreturn));

#endif
