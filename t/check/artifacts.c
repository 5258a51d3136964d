/*
 * artifacts.c - a training function that asks for its run, and leaves a file of each rank
 * in the directory for artifacts.
 */
#include <stdio.h>
#include <string.h>

#include <raytrain.h>

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    const char *dir = raytrain_artifacts_dir(ctx), *run = raytrain_run_dir(ctx);
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%d.%d.%d", RAYTRAIN_VERSION_MAJOR,
             RAYTRAIN_VERSION_MINOR, RAYTRAIN_VERSION_PATCH);
    if (strcmp(path, raytrain_version()) != 0)
        return 1;
    if (!dir || dir != raytrain_artifacts_dir(ctx) ||
        strncmp(dir, run, strlen(run)) != 0)
        return 1;
    if (raytrain_artifacts_dir(NULL) || raytrain_run_dir(NULL) ||
        raytrain_run_name(NULL))
        return 1;
    snprintf(path, sizeof path, "%s/of-%d", dir, raytrain_rank(ctx));
    file = fopen(path, "w");
    if (!file || fprintf(file, "%s\n%s\n", raytrain_run_name(ctx), run) < 0 ||
        fclose(file) != 0)
        return 1;
    return raytrain_report(ctx, NULL, 0, NULL);
}
