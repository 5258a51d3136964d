/*
 * mpi_facts.c - asks the MPI library for its version text, the process for its mapped
 * files and the environment for settings.
 */
#include "config.h"

#include "mpi/mpi_facts.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

extern char **environ;

static bool begins_with_one_of(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strncmp(text, *list, strlen(*list)) == 0)
            return true;
    return false;
}

/* The value in a line "KEY: VALUE" of MPICH's version text; out is "" without the
 * line. */
static void description_find(const char *text, const char *key, char *out, size_t size)
{
    const char *at = strstr(text, key);

    *out = '\0';
    if (!at)
        return;
    at += strlen(key);
    at += strspn(at, ": \t");
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
    out[strcspn(out, " \t")] = '\0';
}

static void library_describe(json_t *facts)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "", name[80], device[80];
    int n = 0, major = 0, minor = 0;

    MPI_Get_library_version(text, &n);
    MPI_Get_version(&major, &minor);
    description_find(text, "MPICH Version", name, sizeof name);
    description_find(text, "MPICH Device", device, sizeof device);
    if (*name)
        json_object_set_new(facts, "library", json_sprintf("MPICH %s", name));
    else
        json_object_set_new(facts, "library",
                            json_sprintf("%.*s", (int)strcspn(text, ",\n"), text));
    json_object_set_new(facts, "standard", json_sprintf("%d.%d", major, minor));
    json_object_set_new(facts, "device", *device ? json_text(device) : json_null());
}

static bool has_text(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
            return true;
    return false;
}

/* Found by the names of mapped files. */
static json_t *transports(void)
{
    static const char *const names[] = {"libfabric.so",  "libucp.so",     "libpsm2.so",
                                        "libibverbs.so", "libportals.so", NULL};
    json_t *list = json_array();
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4400];

    while (maps && fgets(line, sizeof line, maps)) {
        char *base = strrchr(line, '/');

        if (!base)
            continue;
        base++;
        base[strcspn(base, "\n ")] = '\0';
        if (begins_with_one_of(base, names) && !has_text(list, base))
            json_array_append_new(list, json_text(base));
    }
    if (maps)
        fclose(maps);
    return list;
}

static json_t *settings(void)
{
    static const char *const names[] = {"FI_PROVIDER=",
                                        "FI_TCP_IFACE=",
                                        "UCX_TLS=",
                                        "UCX_NET_DEVICES=",
                                        "MPIR_CVAR_CH4_OFI",
                                        "MPIR_CVAR_CH4_NETMOD=",
                                        "MPIR_CVAR_NOLOCAL=",
                                        "OMPI_MCA_pml=",
                                        "OMPI_MCA_btl=",
                                        "I_MPI_FABRICS=",
                                        NULL};
    json_t *list = json_array();

    for (char **entry = environ; *entry; entry++)
        if (begins_with_one_of(*entry, names))
            json_array_append_new(list, json_text(*entry));
    return list;
}

json_t *mpi_facts(void)
{
    json_t *facts = json_object();

    if (!facts)
        return NULL;
    library_describe(facts);
    json_object_set_new(facts, "transports", transports());
    json_object_set_new(facts, "settings", settings());
    return facts;
}
