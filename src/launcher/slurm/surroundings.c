/* surroundings.c - the variables of srun, mpiexec and other starters. */
#include "slurm/surroundings.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* Step ids from here on belong to Slurm: the batch script, salloc's shell. Other steps
 * may use their resources. */
#define STEP_ID_SPECIAL 0xfffffff0

/* A variable that is a number; -1: not set, or not a number. */
static int64_t environment_number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long long value;

    if (!text || !*text)
        return -1;
    errno = 0;
    value = strtoll(text, &end, 10);
    return *end || errno || value < 0 ? -1 : value;
}

static int count_of(int64_t value)
{
    return value > 1 ? (int)(value < INT_MAX ? value : INT_MAX) : 1;
}

/* ---- A Slurm step ---- */

/* A job that was submitted from within a step inherits the variables of that step.
 * Slurm sets only some of them again, so they contradict each other. */
static bool step_is_stale(void)
{
    const char *ranks = getenv("SLURM_GTIDS"); /* "0,1,2" of this node */
    int64_t n = 1;

    for (const char *c = ranks ? ranks : ""; *c; c++)
        n += *c == ',';
    return ranks && environment_number("SLURM_STEP_NUM_NODES") == 1 &&
           environment_number("SLURM_STEP_NUM_TASKS") != n;
}

bool slurm_in_step(void)
{
    int64_t id = environment_number("SLURM_STEP_ID");

    return environment_number("SLURM_JOB_ID") >= 0 && id >= 0 && id < STEP_ID_SPECIAL &&
           !step_is_stale();
}

/* In `srun -n 4 --pty bash` only one of the four tasks runs the shell. */
static bool is_below_terminal(void)
{
    return getenv("SLURM_PTY_PORT") && environment_number("SLURM_TASK_PID") != getpid();
}

/* ---- Copies ---- */

/* The first one whose variables are set decides; mpirun may start its processes through
 * a step with one task per node. */
static const struct {
    const char *size, *rank, *starter;
} starters[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"},
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "mpirun"},
    {"PMI_SIZE", "PMI_RANK", "mpiexec"},
};

static void copies_look(struct surroundings *s)
{
    int64_t tasks = s->in_step ? environment_number("SLURM_STEP_NUM_TASKS") : -1;
    int64_t procid = environment_number("SLURM_PROCID");

    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
        int64_t size = environment_number(starters[i].size),
                rank = environment_number(starters[i].rank);

        if (size < 1 || rank < 0)
            continue;
        s->copies = count_of(size);
        s->rank = (int)rank;
        s->starter = size == tasks && rank == procid ? "srun" : starters[i].starter;
        s->says[0] = starters[i].size;
        s->says[1] = starters[i].rank;
        return;
    }
    if (tasks > 1 && procid >= 0 && !is_below_terminal()) {
        s->copies = count_of(tasks);
        s->rank = (int)procid;
        s->starter = "srun";
        s->says[0] = "SLURM_STEP_NUM_TASKS";
        s->says[1] = "SLURM_PROCID";
    }
}

void surroundings_look(struct surroundings *s)
{
    *s = (struct surroundings){.copies = 1,
                               .starter = "",
                               .in_step = slurm_in_step(),
                               .components =
                                   count_of(environment_number("SLURM_HET_SIZE"))};
    copies_look(s);
}

/* Every copy prints a message: the variables may be inherited, or the first copy may
 * not have got here. */
static int copies_refuse(const struct surroundings *s, struct error *err)
{
    if (s->rank > 0)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "this is copy %d of %d that %s has started, and copy 0 says "
                         "what to do; if there are no copies, unset %s and %s",
                         s->rank, s->copies, s->starter, s->says[0], s->says[1]);
    return error_set(err, RAYTRAIN_EUSAGE,
                     "%s has started %d copies of raytrain-run, which starts the "
                     "workers itself: leave out %s, and use --workers %d\n"
                     "  (to run several runs side by side, give each its own --name, "
                     "and --launcher local; if there are no copies, unset %s and %s)",
                     s->starter, s->copies, s->starter, s->copies, s->says[0],
                     s->says[1]);
}

int surroundings_check(const struct surroundings *s, struct error *err)
{
    if (s->copies > 1)
        return copies_refuse(s, err);
    if (s->components > 1)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "this allocation is heterogeneous: it has %d components, and "
                         "a run can use only one\n"
                         "  use an allocation requested without \":\", or --launcher "
                         "local for this machine only",
                         s->components);
    return 0;
}

int slurm_check_start(struct error *err)
{
    struct surroundings s;

    surroundings_look(&s);
    return surroundings_check(&s, err);
}
