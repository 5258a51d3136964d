#include "config.h"

#include "lightgbm_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define GROUP_ROWS 40 /* rows of two query groups, which are never cut */

/* ---- The library ---- */

void boosting_library_find(void)
{
    const char *source = getenv("top_srcdir");
    char command[4096], path[4096] = "";
    int status = 0;
    FILE *out;

    if (getenv("RAYTRAIN_LIGHTGBM_LIBRARY"))
        return;
    snprintf(command, sizeof command, "%s/t/lightgbm-library", source ? source : "..");
    out = popen(command, "r");
    if (out && fgets(path, sizeof path, out))
        path[strcspn(path, "\n")] = '\0';
    if (out)
        status = pclose(out);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        printf("1..0 # SKIP there is no LightGBM, and no npm to get its source\n");
        exit(0);
    }
    if (!out || status != 0 || !path[0]) {
        printf("Bail out! %s does not give a library\n", command);
        exit(1);
    }
    setenv("RAYTRAIN_LIGHTGBM_LIBRARY", path, 1);
}

/* ---- Data ---- */

static uint64_t bits;

static uint64_t random_bits(void)
{
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    return bits;
}

static double uniform(void)
{
    return (double)(random_bits() >> 11) / 9007199254740992.0;
}

/* The label rises with feature 0 and falls with feature 1. Feature 5 is mostly 0. */
static void rows_make(double (*x)[JOB_FEATURES], float *label, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double z;

        for (size_t k = 0; k < JOB_FEATURES; k++)
            x[i][k] = uniform();
        x[i][4] = floor(8 * x[i][4]);
        if (uniform() < 0.8)
            x[i][5] = 0;
        z = 4 * x[i][0] - 3 * x[i][1] + sin(6 * x[i][2]) + 2 * x[i][5] + uniform();
        label[i] = z > 1;
    }
}

struct job boosting_make(const char *params)
{
    struct job job = {.params = params, .rounds = 12};

    bits = 88172645463325252u;
    job.config.params = json_loads(params, 0, NULL);
    job.config.dmatrix_params = json_object();
    job.data = calloc(1, sizeof *job.data);
    rows_make(job.data->x, job.data->binary, JOB_ROWS);
    rows_make(job.data->valid_x, job.data->valid_binary, JOB_VALID_ROWS);
    return job;
}

void boosting_clear(struct job *job)
{
    for (int r = 0; r < THREAD_COMM_MAX; r++)
        free(job->model[r]);
    json_decref(job->config.params);
    json_decref(job->config.dmatrix_params);
    free(job->data);
}

/* ---- Rows ---- */

static double value_of(const struct job *job, const double *row, uint64_t i, size_t k)
{
    double x = row[k];

    if ((job->flags & JOB_CATEGORIES) && k == 0)
        x = floor(10 * x);
    if ((job->flags & JOB_MISSING) && (i * 7 + k * 3) % 11 == 0)
        x = NAN;
    return x;
}

static void value_put(struct gbdt_rows *s, uint64_t at, double x)
{
    if (s->dtype == RAYTRAIN_FLOAT32)
        ((float *)s->values)[at] = (float)x;
    else
        ((double *)s->values)[at] = x;
}

static void values_make(const struct job *job, struct gbdt_rows *s,
                        const double (*x)[JOB_FEATURES])
{
    uint64_t n = 0;

    s->values = malloc((s->n * JOB_FEATURES + 1) * sizeof(double));
    if (s->sparse) {
        s->offsets = calloc(s->n + 1, sizeof *s->offsets);
        s->indices = malloc((s->n * JOB_FEATURES + 1) * sizeof *s->indices);
    }
    for (uint64_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < JOB_FEATURES; k++) {
            double v = value_of(job, x[s->first + i], s->first + i, k);

            if (s->sparse && v == 0)
                continue;
            if (s->sparse)
                s->indices[n] = (uint32_t)k;
            value_put(s, n++, v);
        }
        if (s->sparse)
            s->offsets[i + 1] = n;
    }
    s->n_values = n;
}

static float label_of(const struct job *job, const double *x, float binary)
{
    if (job->flags & JOB_CLASSES)
        return binary + (x[2] > 0.6 ? 1.0F : 0.0F);
    if (job->flags & JOB_POSITIVE)
        return binary + 0.5F;
    return binary;
}

/* With few digits, so that there are ties. */
static double margin_of(const struct job *job, const double *x, size_t k)
{
    double margin = floor(20 * (x[k] - x[2] / 3)) / 10;

    return job->flags & JOB_POSITIVE ? fabs(margin) + 0.1 : margin;
}

/* Of 10 and 30 rows, in turns. */
static void groups_make(struct gbdt_rows *s)
{
    uint32_t left = (uint32_t)s->n;

    s->groups = malloc((s->n / 10 + 1) * sizeof *s->groups);
    for (; left > 0; s->n_groups++) {
        uint32_t n = s->n_groups % 2 ? 30 : 10;

        s->groups[s->n_groups] = left < n ? left : n;
        left -= s->groups[s->n_groups];
    }
}

static void fields_make(const struct job *job, struct gbdt_rows *s,
                        const double (*x)[JOB_FEATURES], const float *binary)
{
    s->label = malloc((s->n + 1) * sizeof *s->label);
    s->weight =
        job->flags & JOB_WEIGHTS ? malloc((s->n + 1) * sizeof *s->weight) : NULL;
    s->margins = !(job->flags & JOB_MARGINS) ? 0 : job->flags & JOB_CLASSES ? 3 : 1;
    if (job->flags & JOB_GROUPS)
        s->margins = s->margins > 0;
    s->margin = s->margins ? malloc((s->n * s->margins + 1) * sizeof *s->margin) : NULL;
    for (uint64_t i = 0; i < s->n; i++) {
        uint64_t row = s->first + i;

        s->label[i] = label_of(job, x[row], binary[row]);
        if ((job->flags & JOB_BAD_LABEL) && row + 1 == s->all)
            s->label[i] = 7;
        if (s->weight)
            s->weight[i] = 0.5F + (float)(row % 5) / 3 + (float)row / 1000;
        for (uint64_t k = 0; k < s->margins; k++)
            s->margin[i * s->margins + k] = margin_of(job, x[row], (size_t)k);
    }
    if (job->flags & JOB_GROUPS)
        groups_make(s);
}

/* Members have different numbers of rows, whole groups each. */
static uint64_t cut(uint64_t all, int r, int size)
{
    return r == size ? all
                     : all / GROUP_ROWS * (uint64_t)(r * (r + 3)) /
                           (uint64_t)(size * (size + 3)) * GROUP_ROWS;
}

static struct gbdt_rows set_make(const struct job *job, bool valid, int rank, int size)
{
    const uint64_t all = valid ? JOB_VALID_ROWS : JOB_ROWS;
    const bool last = valid && (job->flags & JOB_VALID_LAST);
    struct gbdt_rows s = {.all = all, .features = JOB_FEATURES};
    const double(*x)[JOB_FEATURES] =
        valid ? (const double(*)[JOB_FEATURES])job->data->valid_x
              : (const double(*)[JOB_FEATURES])job->data->x;

    snprintf(s.name, sizeof s.name, "%s", valid ? "valid" : "train");
    s.first = last ? (rank == size - 1 ? 0 : all) : cut(all, rank, size);
    s.n = (last ? all : cut(all, rank + 1, size)) - s.first;
    if (last && rank < size - 1)
        s.first = 0;
    s.sparse = job->flags & JOB_SPARSE;
    s.dtype = job->flags & JOB_FLOAT32 ? RAYTRAIN_FLOAT32 : RAYTRAIN_FLOAT64;
    values_make(job, &s, x);
    fields_make(job, &s, x, valid ? job->data->valid_binary : job->data->binary);
    return s;
}

/* ---- A communicator that fails ---- */

struct failing {
    struct comm comm; /* first */
    struct comm *under;
    struct comm_ops ops;
    int calls, fail_at;
    bool begun;
};

static int failing_count(struct comm *c, struct error *err)
{
    struct failing *f = (struct failing *)(void *)c;

    if (f->begun && f->fail_at > 0 && ++f->calls == f->fail_at)
        return error_set(err, RAYTRAIN_ECOMM, "a worker is gone");
    return 0;
}

static struct comm *under(struct comm *c)
{
    return ((struct failing *)(void *)c)->under;
}

static int failing_gather(struct comm *c, const struct comm_parts parts[], size_t n,
                          struct error *err)
{
    return failing_count(c, err) < 0
               ? -1
               : under(c)->ops->allgather_parts(under(c), parts, n, err);
}

static int failing_sendrecv(struct comm *c, const void *send, size_t n_send, int to,
                            void *recv, size_t n_recv, int from, struct error *err)
{
    return failing_count(c, err) < 0
               ? -1
               : under(c)->ops->sendrecv(under(c), send, n_send, to, recv, n_recv, from,
                                         err);
}

static int failing_allgather(struct comm *c, const void *send, size_t n, void *recv,
                             struct error *err)
{
    return under(c)->ops->allgather(under(c), send, n, recv, err);
}

static int failing_bcast(struct comm *c, void *buf, size_t n, int root,
                         struct error *err)
{
    return under(c)->ops->bcast(under(c), buf, n, root, err);
}

static int failing_allreduce(struct comm *c, void *buf, size_t n, enum comm_type type,
                             enum comm_op op, struct error *err)
{
    return under(c)->ops->allreduce(under(c), buf, n, type, op, err);
}

static const struct comm_ops FAILING_OPS = {
    .name = "failing",
    .allgather_parts = failing_gather,
    .sendrecv = failing_sendrecv,
    .allgather = failing_allgather,
    .bcast = failing_bcast,
    .allreduce = failing_allreduce,
};

/* ---- A member ---- */

struct member {
    struct job *job;
    int rank;
};

static void member_say(void *arg, enum gbdt_severity severity, const char *line)
{
    struct member *m = arg;
    size_t n = strlen(m->job->said);

    (void)severity;
    if (m->rank == 0)
        snprintf(m->job->said + n, sizeof m->job->said - n, "%s\n", line);
}

static int datasets_add(struct booster *b, const struct job *job, int rank, int size,
                        struct error *err)
{
    int rc = 0;

    for (int valid = 0; rc == 0 && valid < 2; valid++) {
        struct gbdt_rows set = set_make(job, valid, rank, size);

        rc = b->ops->add(b, &set, err);
        gbdt_rows_clear(&set);
    }
    return rc;
}

static int rounds_run(struct booster *b, struct job *job, int rank, struct error *err)
{
    int done = b->ops->rounds(b, err), rc = done < 0 ? -1 : 0;
    bool full = false;

    if (rc == 0 && job->rounds == 0)
        return b->ops->evaluate(b, 0, &job->scores[rank], err);
    for (int round = done; rc == 0 && !full && round < job->rounds; round++) {
        rc = b->ops->update(b, round, &full, err);
        if (rc == 0)
            rc = b->ops->evaluate(b, round, &job->scores[rank], err);
    }
    return rc;
}

static int result_take(struct booster *b, struct job *job, int rank, struct error *err)
{
    struct gbdt_importance importance = {job->importance_gain, job->importance_splits};
    void *bytes;
    size_t n;

    if (b->ops->save(b, 0, -1, 0, &bytes, &n, err) < 0)
        return -1;
    job->model[rank] = bytes;
    return rank == 0 ? b->ops->importance(b, 0, &importance, err) : 0;
}

static int member_run(struct comm *comm, void *arg)
{
    struct job *job = arg;
    struct member m = {job, comm->rank};
    struct failing failing = {.comm = *comm, .under = comm, .fail_at = job->fail_at};
    bool categorical[JOB_FEATURES] = {true};
    struct gbdt_features features = {.n = JOB_FEATURES};
    struct booster b = {.ops = booster_find("lightgbm")};
    struct error *err = &job->err[comm->rank];
    int rc;

    failing.comm.ops = &FAILING_OPS;
    if (job->flags & JOB_CATEGORIES)
        features.categorical = categorical;
    b.env = (struct booster_env){.comm = job->fail_at > 0 ? &failing.comm : comm,
                                 .threads = 1,
                                 .config = &job->config,
                                 .features = &features,
                                 .seed = 1,
                                 .model = job->old,
                                 .model_size = job->old ? strlen(job->old) : 0,
                                 .say = member_say,
                                 .arg = &m};
    rc = b.ops->open(err);
    if (rc == 0)
        rc = b.ops->create(&b, err);
    if (rc == 0)
        rc = datasets_add(&b, job, comm->rank, comm->size, err);
    failing.begun = true;
    if (rc == 0)
        rc = b.ops->begin(&b, b.env.model, b.env.model_size, err);
    if (rc == 0)
        rc = rounds_run(&b, job, comm->rank, err);
    if (rc == 0)
        rc = result_take(&b, job, comm->rank, err);
    b.ops->destroy(&b, rc == 0);
    return rc;
}

void boosting_run(struct job *job, int members)
{
    int rc[THREAD_COMM_MAX];

    thread_comm_run(members, member_run, job, rc);
    for (int r = 0; r < members; r++)
        if ((rc[r] < 0) != job->fails) {
            fprintf(stderr, "member %d of %d: %s\n", r, members,
                    job->fails ? "no error" : job->err[r].text);
            abort();
        }
}

/* ---- Predictions ---- */

struct prediction boosting_predict(struct job *job, enum gbdt_output output)
{
    struct gbdt_rows rows = set_make(job, false, 0, 1);
    struct booster b = {.ops = booster_find("lightgbm"), .env = {.threads = 1}};
    struct prediction p = {.ndim = 0};
    struct error err;
    size_t n = JOB_ROWS;

    if (b.ops->create(&b, &err) < 0 ||
        b.ops->load(&b, job->model[0], strlen(job->model[0]), &err) < 0 ||
        b.ops->shape(&b, output, p.shape, &p.ndim, &err) < 0)
        abort();
    for (int d = 0; d < p.ndim; d++)
        n *= (size_t)p.shape[d];
    p.values = malloc(n * sizeof(float));
    if (b.ops->predict(&b, output, &rows, p.values, &err) < 0)
        abort();
    b.ops->destroy(&b, true);
    gbdt_rows_clear(&rows);
    return p;
}
