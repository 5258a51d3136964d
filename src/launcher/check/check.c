/* check.c - the table of checks, and the output of their findings. */
#include "config.h"

#include "check/check.h"

#include "site/node_facts.h"

extern const struct check_ops check_site_file, check_installation, check_batch,
    check_storage, check_workers, check_libraries, check_mpi, check_hdf5,
    check_shared_storage, check_node, check_gpu, check_device;

static const struct check_ops *const checks[] = {
    &check_site_file,      &check_installation, &check_batch, &check_storage,
    &check_workers,        &check_libraries,    &check_mpi,   &check_hdf5,
    &check_shared_storage, &check_node,         &check_gpu,   &check_device,
};

static void check_run(const struct check_ops *check, struct check_context *context,
                      struct findings *findings)
{
    const char *why = "the check was stopped", *how = "run the check again";

    if (!context->stopped)
        why = check->left_out ? check->left_out(context, &how) : NULL;
    if (why)
        check->skip(why, how, findings);
    else
        check->run(context, findings);
}

static int json_print(const struct check_context *context,
                      const struct findings *findings, FILE *out)
{
    json_t *all = json_pack("{s:s, s:s, s:s, s:o}", "version", PACKAGE_VERSION,
                            "launcher", launcher_name(context->launcher), "verdict",
                            verdict_name(findings_worst(findings)), "findings",
                            findings_json(findings));
    int rc = all ? json_dumpf(all, out, JSON_INDENT(2)) : -1;

    json_decref(all);
    return rc < 0 || fputc('\n', out) == EOF || fflush(out) != 0 ? -1 : 0;
}

static int print(const struct check_context *context, const struct findings *findings,
                 FILE *out, struct error *err)
{
    int rc = context->opt->json ? json_print(context, findings, out)
                                : findings_print(findings, context->opt->quiet, out);

    return rc < 0 ? error_set(err, RAYTRAIN_ESTORAGE,
                              "cannot write to standard output: the findings are lost")
                  : 0;
}

int check_site(struct check_context *context, FILE *out, int *exit_status,
               struct error *err)
{
    struct findings findings = {0};
    json_t *own = node_facts();
    int rc;

    context->own = json_array();
    json_array_append_new(context->own, own ? own : json_object());
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        check_run(checks[i], context, &findings);
    check_storage_leave(context);
    rc = print(context, &findings, out, err);
    *exit_status = 0;
    if (findings_worst(&findings) == VERDICT_WRONG)
        *exit_status = error_exit_status(RAYTRAIN_EFIT);
    if (context->stopped)
        *exit_status = error_exit_status(RAYTRAIN_ESTOPPED);
    findings_clear(&findings);
    json_decref(context->report);
    json_decref(context->own);
    return rc;
}
