/*
 * fuzz_config.c - reading any configuration text never crashes, hangs or leaks, and text
 * that is accepted survives run.cfg. `make fuzz` builds it; run t/fuzz/fuzz_config
 * CORPUS_DIR.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/train_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(int holds, const char *what, const char *text)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n%s\n", what, text);
    abort();
}

static void round_trip(const struct train_config *cfg)
{
    struct train_config back;
    char *text, *again;
    struct error err;

    check(!train_config_render(cfg, &text, &err), "does not render", "");
    train_config_init(&back);
    if (train_config_merge_text(&back, text, "run.cfg", &err))
        check(0, err.text, text);
    check(!train_config_render(&back, &again, &err), "does not render", text);
    check(!strcmp(text, again), text, again);
    free(text);
    free(again);
    train_config_clear(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct train_config cfg;
    struct error err;
    char *text = malloc(n + 1);

    if (!text)
        return 0;
    if (n > 0)
        memcpy(text, data, n);
    text[n] = '\0';
    train_config_init(&cfg);
    if (!train_config_merge_text(&cfg, text, "fuzz.cfg", &err))
        round_trip(&cfg);
    (void)train_config_set(&cfg, text, &err);
    train_config_clear(&cfg);
    free(text);
    return 0;
}
