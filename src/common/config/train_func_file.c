/*
 * train_func_file.c - find the file of a training function, and tell shared objects,
 * programs and scripts apart by their headers.
 */
#include "config/train_func_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config_node.h"
#include "util/path_search.h"
#include "util/quote.h"

#ifndef DF_1_PIE
#define DF_1_PIE 0x08000000
#endif

/* Limits for what a file's headers may claim. */
#define SEGMENTS_MAX 512
#define DYNAMIC_MAX  4096

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#elif defined(__s390x__)
#define MACHINE EM_S390
#endif

static bool read_at(int fd, void *data, size_t n, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, data, n, (off_t)offset) == (ssize_t)n;
}

/* Does the dynamic section have the mark that linkers put on position-independent
 * programs? Static ones have no interpreter, only this mark. */
static bool has_pie_mark(int fd, const Elf64_Phdr *dynamic)
{
    Elf64_Dyn entry;

    for (uint64_t i = 0; i < DYNAMIC_MAX && (i + 1) * sizeof entry <= dynamic->p_filesz;
         i++) {
        if (!read_at(fd, &entry, sizeof entry, dynamic->p_offset + i * sizeof entry) ||
            entry.d_tag == DT_NULL)
            return false;
        if (entry.d_tag == DT_FLAGS_1)
            return entry.d_un.d_val & DF_1_PIE;
    }
    return false;
}

static bool elf_is_program(int fd, const Elf64_Ehdr *header)
{
    Elf64_Phdr segment;

    if (header->e_type == ET_EXEC)
        return true;
    for (unsigned i = 0; i < header->e_phnum && i < SEGMENTS_MAX; i++) {
        if (!read_at(fd, &segment, sizeof segment,
                     header->e_phoff + (uint64_t)i * header->e_phentsize))
            return false;
        if (segment.p_type == PT_INTERP ||
            (segment.p_type == PT_DYNAMIC && has_pie_mark(fd, &segment)))
            return true;
    }
    return false;
}

static int elf_kind(int fd, const Elf64_Ehdr *header, const char *shown,
                    enum train_func_kind *kind, struct error *err)
{
    bool foreign = header->e_ident[EI_CLASS] != ELFCLASS64;

#ifdef MACHINE
    foreign = foreign || header->e_machine != MACHINE;
#endif
    if (foreign)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "train_func: %s was built for another kind of machine; build it "
            "on this one",
            shown);
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "train_func: %s is an object file that was not linked; link it: "
            "cc -shared -fPIC",
            shown);
    *kind = elf_is_program(fd, header) ? TRAIN_FUNC_PROGRAM : TRAIN_FUNC_SHARED_OBJECT;
    return 0;
}

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

static int file_kind(int fd, const char *path, enum train_func_kind *kind,
                     struct error *err)
{
    Elf64_Ehdr header;
    char shown[QUOTE_TEXT_MAX];
    bool elf = read_at(fd, &header, sizeof header, 0) &&
               !memcmp(header.e_ident, ELFMAG, SELFMAG);

    quote(path, shown);
    if (elf && elf_kind(fd, &header, shown, kind, err))
        return -1;
    if (elf && *kind == TRAIN_FUNC_SHARED_OBJECT)
        return 0;
    *kind = TRAIN_FUNC_PROGRAM;
    if (!elf && ends_in(path, ".so"))
        return error_set(err, RAYTRAIN_EINVAL,
                         "train_func: %s is not a shared object (it is not an ELF "
                         "file, or is truncated); build it again: cc -shared -fPIC",
                         shown);
    if (access(path, X_OK))
        return error_set(err, RAYTRAIN_EINVAL,
                         "train_func: %s is neither a shared object nor a program that "
                         "may be executed; build a .so, or chmod +x a program",
                         shown);
    return 0;
}

static int fail_missing(const char *path, enum train_func_kind kind, struct error *err)
{
    char shown[QUOTE_TEXT_MAX], *found = NULL;
    int rc;

    quote(path, shown);
    if (strchr(path, '/'))
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "train_func: there is no file %s; %sgive its path", shown,
                         ends_in(path, ".py") ? "" : "build it first, or ");
    if (kind != TRAIN_FUNC_COMMAND)
        found = path_search(path);
    if (found)
        rc = error_set(err, RAYTRAIN_ENOTFOUND,
                       "train_func: there is no file %s here; if the program %s is "
                       "meant, it is a command, which comes after --: -- %s",
                       shown, found, path);
    else
        rc =
            error_set(err, RAYTRAIN_ENOTFOUND,
                      "train_func: there is no file %s here%s; %sgive its path", shown,
                      kind == TRAIN_FUNC_COMMAND ? ", and no such program in PATH" : "",
                      ends_in(path, ".py") ? "" : "build it first, or ");
    free(found);
    return rc;
}

/* "--resume FILE" is --resume without a value, and an operand. */
static int fail_checkpoint(const char *path, struct error *err)
{
    char shown[QUOTE_TEXT_MAX];

    quote(path, shown);
    return error_set(err, RAYTRAIN_EINVAL,
                     "train_func: %s is named like a checkpoint, not like a training "
                     "function; to start from it, type --resume=%s, with a '='",
                     shown, shown);
}

/* Open the file, which must be a regular one: its descriptor, or -1. */
static int train_func_open(const char *path, enum train_func_kind kind,
                           struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char shown[QUOTE_TEXT_MAX];
    struct stat st = {0};

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return fail_missing(path, kind, err);
    if (fd < 0)
        return error_set(err, RAYTRAIN_EINVAL, "train_func: cannot read %s: %s",
                         quote(path, shown), strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return error_set(
        err, RAYTRAIN_EINVAL, "train_func: %s is %s; name the .so or the program",
        quote(path, shown), S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
}

/* ---- The script or module that a command runs ---- */

/* A name that ends in '*' also has versions: python3.11. */
static const char *const interpreters[] = {"python*", "pypy*",  "bash", "sh",
                                           "dash",    "zsh",    "ksh",  "perl*",
                                           "Rscript", "julia*", "ruby", "node"};

static bool is_interpreter(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    for (size_t i = 0; i < sizeof interpreters / sizeof interpreters[0]; i++) {
        size_t n = strlen(interpreters[i]) - 1;
        bool versions = interpreters[i][n] == '*';

        if (versions ? strncmp(base, interpreters[i], n) == 0
                     : strcmp(base, interpreters[i]) == 0)
            return true;
    }
    return false;
}

const char *train_func_subject(const char *path, char *const *args, size_t n)
{
    if (!is_interpreter(path))
        return path;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(args[i], "-m") == 0 && i + 1 < n)
            return args[i + 1];
        if (strcmp(args[i], "-c") == 0)
            return path;
        if (args[i][0] != '-' && access(args[i], F_OK) == 0)
            return args[i];
    }
    return path;
}

/* ---- The file ---- */

int train_func_resolve(char **path, enum train_func_kind *kind, struct error *err)
{
    char *found = NULL;
    int fd, rc = 0;

    if (ends_in(*path, ".h5"))
        return fail_checkpoint(*path, err);
    if (*kind == TRAIN_FUNC_COMMAND && !strchr(*path, '/'))
        found = path_search(*path);
    if (found) {
        free(*path);
        *path = found;
    }
    fd = train_func_open(*path, *kind, err);
    if (fd < 0)
        return -1;
    if (*kind != TRAIN_FUNC_COMMAND)
        rc = file_kind(fd, *path, kind, err);
    close(fd);
    return rc ? -1 : path_make_absolute(path, err);
}
