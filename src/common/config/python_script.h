/*
 * python_script.h - look at a Python script that was named as the training function:
 * which framework it imports, and whether it starts its workers itself. The script is
 * read, not run.
 */
#ifndef RAYTRAIN_CONFIG_PYTHON_SCRIPT_H
#define RAYTRAIN_CONFIG_PYTHON_SCRIPT_H

#include <stdbool.h>

struct python_script {
    const char *backend; /* of the framework that it imports; NULL: none is known */
    /* The class whose fit() starts workers; NULL: none. */
    const char *trainer;
};

/* Is it a Python script, by its name FILE.py? */
bool python_script_is(const char *path);

/* Read the import statements, and the calls of trainer classes. A statement inside a
 * string is taken for a statement. False: the file cannot be read. */
bool python_script_read(const char *path, struct python_script *script);

#endif
