/*
 * pmix_client.c - a worker that uses plain PMIx, for tests of the embedded server.
 *
 *   pmix_client exchange     put, commit, fence, get from every rank, check
 *   pmix_client abort RANK   RANK calls PMIx_Abort(42, "out of luck"), the others fence
 *   pmix_client die RANK     RANK is killed by SIGSEGV, the others wait in a fence
 *   pmix_client leave RANK   RANK exits with 3 and without PMIx_Finalize, the others fence
 */
#include <pmix.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BLOB_SIZE 5000

static int complain(const char *what, pmix_status_t rc)
{
    fprintf(stderr, "pmix_client: %s: %s\n", what, PMIx_Error_string(rc));
    return 1;
}

static int fence(const pmix_proc_t *me)
{
    pmix_proc_t all;
    pmix_info_t collect;
    bool yes = true;
    pmix_status_t rc;

    PMIX_LOAD_PROCID(&all, me->nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    rc = PMIx_Fence(&all, 1, &collect, 1);
    PMIX_INFO_DESTRUCT(&collect);
    return rc == PMIX_SUCCESS ? 0 : complain("fence", rc);
}

static int job_size(const pmix_proc_t *me, uint32_t *size)
{
    pmix_proc_t all;
    pmix_value_t *value;
    pmix_status_t rc;

    PMIX_LOAD_PROCID(&all, me->nspace, PMIX_RANK_WILDCARD);
    rc = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value);
    if (rc != PMIX_SUCCESS)
        return complain("job size", rc);
    *size = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return 0;
}

static int blob_check(const pmix_proc_t *me, uint32_t rank)
{
    char expected[BLOB_SIZE];
    pmix_proc_t peer;
    pmix_value_t *value;
    pmix_status_t rc;
    int wrong;

    PMIX_LOAD_PROCID(&peer, me->nspace, rank);
    rc = PMIx_Get(&peer, "blob", NULL, 0, &value);
    if (rc != PMIX_SUCCESS)
        return complain("get", rc);
    memset(expected, (int)('a' + rank % 26), sizeof expected);
    wrong = value->type != PMIX_BYTE_OBJECT || value->data.bo.size != sizeof expected ||
            memcmp(value->data.bo.bytes, expected, sizeof expected) != 0;
    PMIX_VALUE_RELEASE(value);
    return wrong ? complain("another rank's blob", PMIX_ERR_BAD_PARAM) : 0;
}

static int exchange(const pmix_proc_t *me)
{
    char bytes[BLOB_SIZE];
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    pmix_status_t rc;
    uint32_t size = 0;

    memset(bytes, (int)('a' + me->rank % 26), sizeof bytes);
    value.data.bo.bytes = bytes;
    value.data.bo.size = sizeof bytes;
    rc = PMIx_Put(PMIX_GLOBAL, "blob", &value);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Commit();
    if (rc != PMIX_SUCCESS)
        return complain("put", rc);
    if (fence(me) != 0 || job_size(me, &size) != 0)
        return 1;
    for (uint32_t rank = 0; rank < size; rank++)
        if (blob_check(me, rank) != 0)
            return 1;
    return fence(me);
}

static void misbehave(const char *how)
{
    const struct rlimit no_core = {0, 0};

    if (strcmp(how, "abort") == 0) {
        PMIx_Abort(42, "out of luck", NULL, 0);
        _exit(7);
    }
    if (strcmp(how, "leave") == 0)
        _exit(3);
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

int main(int argc, char *argv[])
{
    pmix_proc_t me;
    pmix_status_t rc;
    int failed;

    if (argc < 2 || (strcmp(argv[1], "exchange") != 0 && argc < 3))
        return 2;
    rc = PMIx_Init(&me, NULL, 0);
    if (rc != PMIX_SUCCESS)
        return complain("init", rc);
    if (strcmp(argv[1], "exchange") == 0) {
        failed = exchange(&me);
    } else {
        if (me.rank == (pmix_rank_t)atoi(argv[2]))
            misbehave(argv[1]);
        failed = fence(&me);
    }
    rc = PMIx_Finalize(NULL, 0);
    if (rc != PMIX_SUCCESS)
        failed = complain("finalize", rc);
    _exit(failed); /* skips the leak checker: libpmix leaks a few bytes */
}
