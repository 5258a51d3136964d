#include "config.h"

#include "checkpoint/shared_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/fs.h"

/* ---- Which rank writes which page -------------------------------------------------
 */

/* The tensors' chunks, and what rank 0 writes: all that is not tensors' bytes. */
static int pages_fill(struct shared_file *f, uint64_t file_bytes, struct error *err)
{
    struct chunk_walk walk = f->chunks;
    struct extent *gaps = NULL;
    struct chunk c;
    size_t n = 0;

    if (extents_gaps(f->ck, file_bytes, &gaps, &n, err) < 0)
        return -1;
    while (chunk_walk_next(&walk, &c))
        page_writers_add_chunk(&f->pages, &c, f->owner(f->arg, &c));
    page_writers_claim(&f->pages, 0, HEAD_BYTES, 0);
    for (size_t i = 0; i < n; i++)
        page_writers_claim(&f->pages, gaps[i].start, gaps[i].end, 0);
    free(gaps);
    return 0;
}

int shared_file_begin(struct shared_file *f, uint64_t file_bytes, uint64_t block_bytes,
                      struct error *err)
{
    uint64_t page, sizes[] = {file_bytes, block_bytes};
    int rc;

    if (!f->nodes || f->nodes->n_nodes == 1)
        return 0;
    if (f->comm->ops->bcast(f->comm, sizes, sizeof sizes, 0, err) < 0)
        return -1;
    page = page_bytes_choose(sizes[0], f->comm->size, sizes[1]);
    rc = page_writers_init(&f->pages, sizes[0], page, f->nodes);
    rc = rc < 0 ? error_set(err, RAYTRAIN_ENOMEM, "out of memory")
                : pages_fill(f, sizes[0], err);
    return comm_agree(f->comm, rc, err);
}

/* ---- What a rank writes itself ----------------------------------------------------
 */

int shared_file_open(struct shared_file *f, int fd)
{
    f->writer = slab_writer_create(fd);
    return f->writer ? 0 : -1;
}

int shared_file_write(struct shared_file *f, const struct chunk *chunk,
                      const void *data)
{
    const unsigned char *bytes = data;
    struct chunk piece = *chunk;
    uint64_t page;
    int rc = 0;

    if (f->pages.n_pages == 0)
        return chunk_place(f->writer, chunk, data);
    piece.to = piece.from;
    while (rc == 0 && chunk_next_piece(chunk, f->pages.page_bytes, &piece, &page)) {
        int rank = page_writers_of(&f->pages, page);

        if (rank < 0 || rank == f->comm->rank)
            rc = chunk_place(f->writer, &piece, bytes + (piece.from - chunk->from));
    }
    return rc;
}

int shared_file_flush(struct shared_file *f)
{
    return slab_writer_flush(f->writer);
}

/* ---- What moves -------------------------------------------------------------------
 */

/* What of one chunk goes from its owner to one other rank. Both know of it. */
struct move {
    uint64_t part, from; /* the chunk */
    uint64_t bytes;
    int shift; /* how many ranks further it goes */
};

struct moves {
    struct move *list;
    size_t n, room;
};

static int move_add(struct moves *m, const struct move *move)
{
    if (m->n == m->room) {
        size_t room = m->room ? 2 * m->room : 64;
        struct move *list = realloc(m->list, room * sizeof *list);

        if (!list)
            return -1;
        m->list = list;
        m->room = room;
    }
    m->list[m->n++] = *move;
    return 0;
}

static int move_compare(const void *a, const void *b)
{
    const struct move *p = a, *q = b;

    if (p->shift != q->shift)
        return p->shift < q->shift ? -1 : 1;
    if (p->part != q->part)
        return p->part < q->part ? -1 : 1;
    return (p->from > q->from) - (p->from < q->from);
}

/* A rank's side of it all. */
struct exchange {
    struct shared_file *f;
    struct moves out, in;
    unsigned char *sent, *got; /* a message each */
    int rc;                    /* the first failure, while all stay in step */
};

/* The next piece of the chunk in a page that `to` is chosen for. */
static bool piece_for(const struct shared_file *f, const struct chunk *chunk, int to,
                      struct chunk *piece)
{
    uint64_t page;

    while (chunk_next_piece(chunk, f->pages.page_bytes, piece, &page))
        if (page_writers_of(&f->pages, page) == to)
            return true;
    return false;
}

/* bytes[r]: what of the chunk goes to rank r. All zeros again on return. */
static int chunk_moves(struct exchange *x, const struct chunk *chunk, int owner,
                       uint64_t *bytes)
{
    const struct shared_file *f = x->f;
    int rank = f->comm->rank, size = f->comm->size, rc = 0;
    bool own = owner == rank;
    struct chunk piece = *chunk;
    uint64_t page;

    piece.to = piece.from;
    while (chunk_next_piece(chunk, f->pages.page_bytes, &piece, &page)) {
        int to = page_writers_of(&f->pages, page);

        if (to >= 0 && to != owner && (own || to == rank))
            bytes[to] += piece.to - piece.from;
    }
    for (int to = own ? 0 : rank; rc == 0 && to <= (own ? size - 1 : rank); to++) {
        struct move move = {chunk->part, chunk->from, bytes[to],
                            (to - owner + size) % size};

        if (bytes[to] > 0)
            rc = move_add(own ? &x->out : &x->in, &move);
        bytes[to] = 0;
    }
    return rc;
}

static int moves_find(struct exchange *x)
{
    struct chunk_walk walk = x->f->chunks;
    uint64_t *bytes = calloc((size_t)x->f->comm->size, sizeof *bytes);
    int rc = bytes ? 0 : -1;
    struct chunk c;

    while (rc == 0 && chunk_walk_next(&walk, &c))
        rc = chunk_moves(x, &c, x->f->owner(x->f->arg, &c), bytes);
    free(bytes);
    if (x->out.n > 1)
        qsort(x->out.list, x->out.n, sizeof *x->out.list, move_compare);
    if (x->in.n > 1)
        qsort(x->in.list, x->in.n, sizeof *x->in.list, move_compare);
    return rc;
}

/* Moves that make up one message: of one shift, up to this many bytes or one chunk. */
#define MESSAGE_BYTES (1u << 20)

/* Those from number `i` on; where they end. */
static size_t message_end(const struct moves *m, size_t i, uint64_t *bytes)
{
    int shift = m->list[i].shift;

    *bytes = m->list[i++].bytes;
    while (i < m->n && m->list[i].shift == shift &&
           *bytes + m->list[i].bytes <= MESSAGE_BYTES)
        *bytes += m->list[i++].bytes;
    return i;
}

/* A failure leaves bytes in the message that mean nothing; the file is then given up.
 */
static void message_pack(struct exchange *x, size_t i, size_t end, int to,
                         struct error *err)
{
    const struct shared_file *f = x->f;
    unsigned char *at = x->sent;

    for (; i < end; i++) {
        struct chunk c, piece;

        chunk_walk_at(&f->chunks, x->out.list[i].part, x->out.list[i].from, &c);
        piece = c;
        piece.to = piece.from;
        while (piece_for(f, &c, to, &piece)) {
            if (x->rc == 0)
                x->rc = f->read(f->arg, &piece, at, err);
            at += piece.to - piece.from;
        }
    }
}

static void message_write(struct exchange *x, size_t i, size_t end, struct error *err)
{
    struct shared_file *f = x->f;
    const unsigned char *at = x->got;
    int rc = 0;

    for (; rc == 0 && i < end; i++) {
        struct chunk c, piece;

        chunk_walk_at(&f->chunks, x->in.list[i].part, x->in.list[i].from, &c);
        piece = c;
        piece.to = piece.from;
        while (rc == 0 && piece_for(f, &c, f->comm->rank, &piece)) {
            rc = chunk_place(f->writer, &piece, at);
            at += piece.to - piece.from;
        }
    }
    if (rc == 0)
        rc = slab_writer_flush(f->writer);
    if (rc < 0)
        x->rc = fs_error(err, "write", f->path);
}

/* Shift after shift, each rank sends to one and receives from one, as often as either
 * has something: all ranks go through the same steps, so that none waits for ever. */
static int messages_move(struct exchange *x, struct error *err)
{
    struct comm *comm = x->f->comm;
    size_t out = 0, in = 0;

    while (out < x->out.n || in < x->in.n) {
        int size = comm->size, shift = size, to = -1, from = -1;
        uint64_t n_out = 0, n_in = 0;
        size_t out_end = out, in_end = in;
        struct error lost;

        if (out < x->out.n)
            shift = x->out.list[out].shift;
        if (in < x->in.n && x->in.list[in].shift < shift)
            shift = x->in.list[in].shift;
        if (out < x->out.n && x->out.list[out].shift == shift) {
            to = (comm->rank + shift) % size;
            out_end = message_end(&x->out, out, &n_out);
            message_pack(x, out, out_end, to, err);
        }
        if (in < x->in.n && x->in.list[in].shift == shift) {
            from = (comm->rank - shift + size) % size;
            in_end = message_end(&x->in, in, &n_in);
        }
        if (comm->ops->sendrecv(comm, x->sent, n_out, to, x->got, n_in, from, &lost) <
            0)
            return error_set(err, lost.code, "%s", lost.text);
        if (x->rc == 0 && from >= 0)
            message_write(x, in, in_end, err);
        out = out_end;
        in = in_end;
    }
    return x->rc;
}

int shared_file_finish(struct shared_file *f, struct error *err)
{
    struct exchange x = {.f = f};
    uint64_t room = MESSAGE_BYTES + f->chunks.chunk_bytes;
    int rc = 0;

    if (f->pages.n_pages == 0)
        return 0;
    x.sent = malloc(room);
    x.got = malloc(room);
    if (!x.sent || !x.got || moves_find(&x) < 0)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    rc = comm_agree(f->comm, rc, err);
    if (rc == 0)
        rc = messages_move(&x, err);
    free(x.sent);
    free(x.got);
    free(x.out.list);
    free(x.in.list);
    return rc;
}

void shared_file_clear(struct shared_file *f)
{
    int saved = errno;

    page_writers_clear(&f->pages);
    slab_writer_destroy(f->writer);
    f->writer = NULL;
    errno = saved;
}
