/* commands.c - the configuration, and the commands to type next. */
#include "config.h"

#include "page/sections.h"

#include <string.h>

#include "inspect/output.h"
#include "page/html.h"

#define CONFIG_SHOWN 65536 /* bytes */

/* ---- The configuration ---- */

static void setting(FILE *out, const char *name, const char *value)
{
    fprintf(out, "<div><dt>%s</dt><dd>", name);
    html_text(out, value);
    fputs("</dd></div>\n", out);
}

/* The keys that readers want first. */
static void settings_write(FILE *out, const struct facts *f)
{
    const struct train_config *c = &f->settings;
    char text[HTML_NUMBER_MAX];

    fputs("<dl class=\"settings\">\n", out);
    if (c->train_func)
        setting(out, "Training function", c->train_func);
    else if (c->trainer)
        setting(out, "Trainer", c->trainer);
    if (c->backend)
        setting(out, "Backend", c->backend);
    for (size_t i = 0; i < c->n_datasets; i++) {
        fputs("<div><dt>Dataset ", out);
        html_text(out, c->datasets[i].name);
        fputs("</dt><dd>", out);
        html_text(out, c->datasets[i].path ? c->datasets[i].path : "");
        fputs("</dd></div>\n", out);
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)c->seed);
    setting(out, "Seed", text);
    if (c->resume_from_checkpoint)
        setting(out, "Resumed from", c->resume_from_checkpoint);
    fputs("</dl>\n", out);
}

void config_write(FILE *out, const struct facts *f)
{
    size_t n;
    char saved;

    if (!f->config)
        return;
    n = strlen(f->config);
    fputs("<section id=\"configuration\" aria-labelledby=\"configuration-title\">"
          "<h2 id=\"configuration-title\">Configuration</h2>\n",
          out);
    settings_write(out, f);
    fputs("<p class=\"what\">All of it, <code>run.cfg</code>:</p>\n"
          "<pre tabindex=\"0\" role=\"group\" aria-label=\"run.cfg\">",
          out);
    if (n > CONFIG_SHOWN) {
        saved = f->config[CONFIG_SHOWN];
        f->config[CONFIG_SHOWN] = '\0';
        html_lines(out, f->config);
        f->config[CONFIG_SHOWN] = saved;
        fprintf(out, "\n... and %zu bytes more", n - CONFIG_SHOWN);
    } else {
        html_lines(out, f->config);
    }
    fputs("</pre></section>\n", out);
}

/* ---- What to type ---- */

static void command_begin(FILE *out, const char *what)
{
    fprintf(out, "<div class=\"command\"><h3>%s</h3><pre tabindex=\"0\">", what);
}

static void command_end(FILE *out)
{
    fputs("</pre></div>\n", out);
}

static void path_write(FILE *out, const struct facts *f, const char *name)
{
    char path[5000];

    snprintf(path, sizeof path, "%.4096s/%.800s", f->path, name);
    html_word(out, path);
}

void commands_write(FILE *out, const struct facts *f)
{
    const char *best = string_of(f->run, "best_checkpoint");

    fputs("<section id=\"commands\" aria-labelledby=\"commands-title\">"
          "<h2 id=\"commands-title\">Next steps</h2>\n",
          out);
    if (f->config && strcmp(f->status, "running") != 0 &&
        strcmp(f->status, "finished") != 0) {
        command_begin(out, "Continue the run");
        fputs("raytrain-run --config ", out);
        path_write(out, f, "run.cfg");
        fputs(" --resume", out);
        command_end(out);
    }
    if (f->config) {
        char name[300];

        command_begin(out, "Repeat it from the beginning, as another run");
        fputs("raytrain-run --config ", out);
        path_write(out, f, "run.cfg");
        fputs(" --name ", out);
        snprintf(name, sizeof name, "%.255s-again", f->name);
        html_word(out, name);
        command_end(out);
    }
    command_begin(out, "Look at it in a terminal");
    fputs("raytrain-inspect ", out);
    html_word(out, f->path);
    command_end(out);
    if (*best) {
        command_begin(out, "Verify and list its best checkpoint");
        fputs("raytrain-inspect --verify ", out);
        html_word(out, best);
        command_end(out);
    }
    fputs("</section>\n", out);
}
