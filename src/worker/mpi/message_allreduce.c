/*
 * message_allreduce.c - the steps of an allreduce over messages, and the chunks that
 * are in progress at a time.
 *
 * Ranks beyond the largest power of two take part through a neighbour: the lowest ranks
 * form pairs, in which the even rank first sends its data to the odd one, and finally
 * gets the result. The odd ranks and all others are numbered 0..2^levels-1, and
 * exchange with the rank whose number differs in bit k, for increasing k. So the larger
 * exchanges of recursive halving are between near ranks, which share a node.
 *
 * Matching: each flight (one chunk in progress) has its own tag, and messages between
 * two ranks that have the same tag keep their order. Flight f takes chunks f, f +
 * FLIGHTS, ... on every rank.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/message_allreduce.h"
#include "mpi/mpi_error.h"

/* Measured with 2 to 8 ranks on one node: larger chunks drop out of the cache between
 * message and sum, smaller ones spend more on messages. */
#define CHUNK_BYTES    ((size_t)256 * 1024)
/* Larger chunks are reduced by recursive halving. */
#define DOUBLING_BYTES ((size_t)8 * 1024)
#define FLIGHTS        2

/* Reductions do not use tag 0. MPI guarantees tags up to 32767. */
#define TAG_MATCHED  (32767 - MPI_MATCHED_CALLS) /* of call 0 */
#define TAG_MISMATCH (TAG_MATCHED - 1)
#define TAGS         (TAG_MISMATCH - 1)

struct flight {
    char *data; /* the chunk, in the caller's buffer; NULL: this flight is over */
    size_t n;   /* elements */
    int step, tag;
    char *buffer; /* what was received, before it is combined */
    size_t room;
    MPI_Request receive, send;
};

struct mpi_reduction {
    struct comm_request request; /* first */
    struct mpi_reducer *reducer;
    struct mpi_reduction *next; /* while it is idle */
    struct reduction_kind kind;
    char *data; /* the caller's buffer; flights take its chunks in turn */
    size_t n, chunk_n;
    int matched; /* the tag of this rank's call; 0: the allreduce is not matched */
    bool *same;  /* if it is matched: no rank is known to make another call */
    struct flight flights[FLIGHTS];
};

/* ---- The steps of each rank ---- */

struct place {
    int levels; /* 2^levels ranks exchange */
    int extra;  /* pairs of ranks of which only the odd one does */
    int number; /* of this rank among them; -1: it does not */
};

static struct place rank_place(int rank, int size)
{
    struct place p = {0};

    while (size >> (p.levels + 1))
        p.levels++;
    p.extra = size - (1 << p.levels);
    if (rank >= 2 * p.extra)
        p.number = rank - p.extra;
    else
        p.number = rank % 2 ? rank / 2 : -1;
    return p;
}

static int place_rank(const struct place *p, int number)
{
    return number < p->extra ? 2 * number + 1 : number + p->extra;
}

struct range {
    size_t lo, n;
};

/* The elements that `number` combines after `rounds` of halving n elements. */
static struct range range_after(size_t n, int rounds, int number)
{
    struct range r = {0, n};

    for (int k = 0; k < rounds; k++) {
        size_t half = r.n / 2;

        if (number >> k & 1) {
            r.lo += half;
            r.n -= half;
        } else {
            r.n = half;
        }
    }
    return r;
}

/* One step of one rank: at most one message in each direction. */
struct step {
    int to, from; /* ranks; -1: none */
    struct range out, in;
    bool combine; /* combine what is received; else it replaces the data */
};

static const struct step step_none = {.to = -1, .from = -1};

/* Send the data to the neighbour before all exchanges (first), or receive the result
 * after them. */
static struct step step_neighbour(const struct place *p, int rank, size_t n, bool first)
{
    struct step s = step_none;

    if (rank >= 2 * p->extra)
        return s;
    s.combine = first;
    if ((rank % 2 == 0) == first) {
        s.to = rank ^ 1;
        s.out.n = n;
    } else {
        s.from = rank ^ 1;
        s.in.n = n;
    }
    return s;
}

static struct step step_exchange(const struct place *p, size_t n, int level, bool halve,
                                 bool gather)
{
    int peer = p->number ^ (1 << level);
    struct step s = {.combine = !gather};

    s.to = s.from = place_rank(p, peer);
    if (!halve) {
        s.out.n = s.in.n = n;
        return s;
    }
    s.out = range_after(n, level + 1, gather ? p->number : peer);
    s.in = range_after(n, level + 1, gather ? peer : p->number);
    return s;
}

/* Step number `i` of this rank, for a chunk of n elements; false: there are no more. */
static bool step_find(const struct mpi_reduction *m, size_t n, int i, struct step *s)
{
    int rank = m->reducer->rank;
    struct place p = rank_place(rank, m->reducer->size);
    bool halve = !m->matched && n * m->kind.width > DOUBLING_BYTES;
    int exchanges = halve ? 2 * p.levels : p.levels;

    *s = step_none;
    if (i == 0)
        *s = step_neighbour(&p, rank, n, true);
    else if (i == exchanges + 1)
        *s = step_neighbour(&p, rank, n, false);
    else if (i <= p.levels && p.number >= 0)
        *s = step_exchange(&p, n, i - 1, halve, false);
    else if (i <= exchanges && p.number >= 0)
        *s = step_exchange(&p, n, exchanges - i, halve, true);
    return i <= exchanges + 1;
}

/* ---- Flights ---- */

static int matched_step_start(struct mpi_reduction *m, struct flight *f,
                              const struct step *s)
{
    MPI_Comm comm = m->reducer->handle;
    int bytes = *m->same ? (int)(f->n * m->kind.width) : 0;
    int tag = *m->same ? m->matched : TAG_MISMATCH, rc = MPI_SUCCESS;

    if (s->from >= 0)
        rc = MPI_Irecv(f->buffer, (int)COMM_MATCHED_BYTES, MPI_BYTE, s->from,
                       MPI_ANY_TAG, comm, &f->receive);
    if (rc == MPI_SUCCESS && s->to >= 0)
        rc = MPI_Isend(f->data, bytes, MPI_BYTE, s->to, tag, comm, &f->send);
    return rc;
}

static int step_start(struct mpi_reduction *m, struct flight *f, const struct step *s,
                      struct error *err)
{
    MPI_Comm comm = m->reducer->handle;
    int rc = MPI_SUCCESS;

    f->receive = f->send = MPI_REQUEST_NULL;
    if (m->matched)
        rc = matched_step_start(m, f, s);
    else if (s->from >= 0)
        rc = MPI_Irecv(s->combine ? f->buffer : f->data + s->in.lo * m->kind.width,
                       (int)(s->in.n * m->kind.width), MPI_BYTE, s->from, f->tag, comm,
                       &f->receive);
    if (rc == MPI_SUCCESS && s->to >= 0 && !m->matched)
        rc = MPI_Isend(f->data + s->out.lo * m->kind.width,
                       (int)(s->out.n * m->kind.width), MPI_BYTE, s->to, f->tag, comm,
                       &f->send);
    return rc == MPI_SUCCESS ? 0 : mpi_fail(err, "allreduce", rc);
}

/* Does the message of a matched allreduce belong to this rank's call? */
static void message_judge(const struct mpi_reduction *m, const struct flight *f,
                          const MPI_Status *status)
{
    int bytes = 0;

    MPI_Get_count(status, MPI_BYTE, &bytes);
    if (status->MPI_TAG != m->matched || (size_t)bytes != f->n * m->kind.width)
        *m->same = false;
}

static int step_test(const struct mpi_reduction *m, struct flight *f, bool *complete,
                     struct error *err)
{
    int flag = 1, rc = MPI_SUCCESS;
    MPI_Status status;

    if (f->receive != MPI_REQUEST_NULL) {
        rc = MPI_Test(&f->receive, &flag, &status);
        if (rc == MPI_SUCCESS && flag && m->matched)
            message_judge(m, f, &status);
    }
    if (rc == MPI_SUCCESS && flag && f->send != MPI_REQUEST_NULL)
        rc = MPI_Test(&f->send, &flag, MPI_STATUS_IGNORE);
    *complete = flag;
    return rc == MPI_SUCCESS ? 0 : mpi_fail(err, "allreduce", rc);
}

/* Give the flight its next chunk, or end it if none is left. */
static void flight_next(struct mpi_reduction *m, struct flight *f)
{
    size_t skip =
        f->data ? FLIGHTS * m->chunk_n : (size_t)(f - m->flights) * m->chunk_n;
    size_t at = skip + (f->data ? (size_t)(f->data - m->data) / m->kind.width : 0);

    f->step = 0;
    if (at >= m->n) {
        f->data = NULL;
        return;
    }
    f->data = m->data + at * m->kind.width;
    f->n = m->n - at < m->chunk_n ? m->n - at : m->chunk_n;
}

/* Start steps until there is one to wait for, or the flight is over. */
static int flight_start(struct mpi_reduction *m, struct flight *f, struct error *err)
{
    struct step s;

    while (f->data) {
        while (step_find(m, f->n, f->step, &s)) {
            if (s.to >= 0 || s.from >= 0)
                return step_start(m, f, &s, err);
            f->step++;
        }
        if (m->kind.finish)
            m->kind.finish(f->data, f->n, m->reducer->size);
        flight_next(m, f);
    }
    return 0;
}

/* Combine or store what was received. If ranks have made different calls, no data from
 * other ranks are combined with this rank's. */
static void step_take(const struct mpi_reduction *m, struct flight *f,
                      const struct step *s)
{
    if (s->from < 0 || (m->matched && !*m->same))
        return;
    if (s->combine)
        m->kind.combine(f->data + s->in.lo * m->kind.width, f->buffer, s->in.n);
    else if (m->matched)
        memcpy(f->data, f->buffer, s->in.n * m->kind.width);
}

static int flight_advance(struct mpi_reduction *m, struct flight *f, struct error *err)
{
    while (f->data) {
        bool complete;
        struct step s;

        if (step_test(m, f, &complete, err) < 0)
            return -1;
        if (!complete)
            return 0;
        step_find(m, f->n, f->step, &s);
        step_take(m, f, &s);
        f->step++;
        if (flight_start(m, f, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- Reductions ---- */

void mpi_reducer_init(struct mpi_reducer *r, MPI_Comm handle, int rank, int size)
{
    *r = (struct mpi_reducer){.handle = handle, .rank = rank, .size = size};
}

void mpi_reducer_clear(struct mpi_reducer *r)
{
    while (r->idle) {
        struct mpi_reduction *m = r->idle;

        r->idle = m->next;
        for (int f = 0; f < FLIGHTS; f++)
            free(m->flights[f].buffer);
        free(m);
    }
}

static struct mpi_reduction *mpi_reduction_take(struct mpi_reducer *r)
{
    struct mpi_reduction *m = r->idle;

    if (m)
        r->idle = m->next;
    else
        m = calloc(1, sizeof *m);
    if (m)
        m->reducer = r;
    return m;
}

static void reduction_put_back(struct mpi_reduction *m)
{
    m->next = m->reducer->idle;
    m->reducer->idle = m;
}

/* Allocate room for the flight's largest chunk. */
static int flight_room(struct mpi_reduction *m, struct flight *f, struct error *err)
{
    size_t need = f->data ? f->n * m->kind.width : 0;

    if (f->data && m->matched)
        need = COMM_MATCHED_BYTES;
    if (need <= f->room)
        return 0;
    free(f->buffer);
    f->buffer = malloc(need);
    f->room = f->buffer ? need : 0;
    return f->buffer ? 0
                     : error_set(err, RAYTRAIN_ENOMEM, "no memory to combine %zu bytes",
                                 m->n * m->kind.width);
}

static int mpi_reduction_advance(struct comm_request *request, bool *done,
                                 struct error *err)
{
    struct mpi_reduction *m = (struct mpi_reduction *)(void *)request;

    *done = true;
    for (int i = 0; i < FLIGHTS; i++) {
        if (flight_advance(m, &m->flights[i], err) < 0)
            return -1; /* messages may be in progress: their memory must stay */
        if (m->flights[i].data)
            *done = false;
    }
    if (*done)
        reduction_put_back(m);
    return 0;
}

static int mpi_reduction_begin(struct mpi_reduction *m, void *buf, size_t n,
                               const struct reduction_kind *kind,
                               struct comm_request **out, struct error *err)
{
    int tag = 1 + (int)(m->reducer->started++ % (TAGS / FLIGHTS)) * FLIGHTS;

    m->request.advance = mpi_reduction_advance;
    m->kind = *kind;
    m->data = buf;
    m->n = n;
    m->chunk_n = CHUNK_BYTES / kind->width;
    for (int i = 0; i < FLIGHTS; i++) {
        struct flight *f = &m->flights[i];

        f->data = NULL;
        f->tag = tag + i;
        flight_next(m, f);
        if (flight_room(m, f, err) < 0) {
            m->flights[0].data = m->flights[1].data = NULL;
            reduction_put_back(m);
            return -1;
        }
    }
    for (int i = 0; i < FLIGHTS; i++)
        if (flight_start(m, &m->flights[i], err) < 0)
            return -1; /* as above */
    *out = &m->request;
    return 0;
}

int mpi_reduction_start(struct mpi_reducer *r, void *buf, size_t n,
                        const struct reduction_kind *kind, struct comm_request **out,
                        struct error *err)
{
    struct mpi_reduction *m = mpi_reduction_take(r);

    *out = NULL;
    if (!m)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory to start an allreduce");
    m->matched = 0;
    return mpi_reduction_begin(m, buf, n, kind, out, err);
}

int mpi_matched_start(struct mpi_reducer *r, int call, void *buf, size_t n,
                      const struct reduction_kind *kind, bool *same,
                      struct comm_request **out, struct error *err)
{
    struct mpi_reduction *m;

    *out = NULL;
    if (call < 0 || call >= MPI_MATCHED_CALLS || n == 0 ||
        n > COMM_MATCHED_BYTES / kind->width)
        return error_set(err, RAYTRAIN_EINVAL,
                         "a matched allreduce of %zu elements for call %d", n, call);
    m = mpi_reduction_take(r);
    if (!m)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory to start an allreduce");
    m->matched = TAG_MATCHED + call;
    m->same = same;
    *same = true;
    return mpi_reduction_begin(m, buf, n, kind, out, err);
}
