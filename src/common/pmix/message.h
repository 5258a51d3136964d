/*
 * message.h - what the process of an embedded PMIx server and its owner send each other,
 * over a SOCK_SEQPACKET socket pair.
 */
#ifndef RAYTRAIN_PMIX_MESSAGE_H
#define RAYTRAIN_PMIX_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* From the server, except NAMESPACE and OUTLIVE, and FENCE, which goes both ways. */
enum pmix_message_kind {
    PMIX_MESSAGE_NAMESPACE, /* to the server, first: the namespace of its clients */
    PMIX_MESSAGE_ERROR,
    PMIX_MESSAGE_ENV, /* the variables of each rank of the node, in their order */
    PMIX_MESSAGE_JOINED,
    PMIX_MESSAGE_LEFT,
    PMIX_MESSAGE_ABORT,
    /* A part of what this node contributes to a fence, and of what all nodes have:
     * `status` is 1 if more parts follow, else 0. */
    PMIX_MESSAGE_FENCE,
    PMIX_MESSAGE_OUTLIVE /* the owner's end is not needed by the server any longer */
};

#define PMIX_MESSAGE_TEXT_MAX ((size_t)60 * 1024)

struct pmix_message {
    enum pmix_message_kind kind;
    int rank;                         /* -1: NAMESPACE, ERROR, FENCE, OUTLIVE */
    int status;                       /* for ABORT; for ERROR the raytrain_status */
    size_t n;                         /* bytes of `text` that are sent */
    char text[PMIX_MESSAGE_TEXT_MAX]; /* ENV: strings with their NULs; FENCE: bytes;
                                         else one string */
};

/* Send a message; waits until the socket accepts it. -1 and errno. */
int pmix_message_send(int socket, const struct pmix_message *m);
/* The same with a string as its text, which may be cut. */
int pmix_text_send(int socket, enum pmix_message_kind kind, int rank, int status,
                   const char *text);
/* 1: received; 0: there is none yet, and it must not wait; -1: end of the stream, or an
 * error. */
int pmix_message_receive(int socket, bool wait, struct pmix_message *m);
/* Send data of any size as messages FENCE. */
int pmix_fence_send(int socket, const char *data, size_t n);
/* Append a FENCE message to *data. 1: it was the last; 0: more follow; -1: out of
 * memory. */
int pmix_fence_append(const struct pmix_message *m, char **data, size_t *n);

#endif
