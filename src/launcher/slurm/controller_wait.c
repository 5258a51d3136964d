/* controller_wait.c - see controller_wait.h. */
#include "config.h"

#include "slurm/controller_wait.h"

#include <stdio.h>
#include <stdlib.h>

#include "slurm/slurm_tool.h"
#include "util/attention.h"
#include "util/clock.h"

#define ANSWER_MAX_S 30.0 /* then a question counts as not answered */
#define LOOK_S       0.05 /* how often a question on its way is looked at */
#define PAUSE_MAX_S  10.0 /* between questions; it grows up to this */

static struct {
    double seconds;
    void (*say)(const char *text);
} patience;

void slurm_patience_set(double seconds, void (*say)(const char *text))
{
    patience.seconds = seconds;
    patience.say = say;
}

static bool wait_simply(void *arg, double seconds)
{
    (void)arg;
    attention_wait(-1, (int)(seconds * 1e3));
    return !attention_is_called();
}

/* Any question will do that needs the controller, and nothing else. A command that
 * cannot even be started says nothing about it. */
static bool controller_is_away(bool (*go_on)(void *arg, double seconds), void *arg)
{
    char *argv[] = {(char *)"scontrol", (char *)"show", (char *)"config", NULL};
    double until = clock_now() + ANSWER_MAX_S;
    struct slurm_tool *t = NULL;
    char *text = NULL;
    bool done = false;

    if (slurm_tool_start(argv, &t, NULL) < 0)
        return false;
    while (!done && clock_now() < until && go_on(arg, LOOK_S))
        if (slurm_tool_poll(t, &done, &text, NULL) < 0)
            break;
    slurm_tool_destroy(t);
    free(text);
    return !done;
}

static void away_say(void)
{
    char text[128];

    snprintf(text, sizeof text,
             "Slurm's controller does not answer: asking again for up to %.0f s",
             patience.seconds);
    if (patience.say)
        patience.say(text);
}

/* True: it is back. */
static bool return_await(double until, bool (*go_on)(void *arg, double seconds),
                         void *arg)
{
    for (double pause = 0.25; clock_now() < until && go_on(arg, pause);
         pause = 2 * pause < PAUSE_MAX_S ? 2 * pause : PAUSE_MAX_S)
        if (!controller_is_away(go_on, arg))
            return true;
    return false;
}

int slurm_ask(char *const *argv, char **text, struct error *err)
{
    double until = clock_now() + patience.seconds;
    bool answered = false, said = false;

    while (slurm_tool_read(argv, ANSWER_MAX_S, text, err) < 0) {
        if (patience.seconds <= 0 || answered || attention_is_called())
            return -1;
        /* It may be back by now, so this question is asked once more. */
        answered = !controller_is_away(wait_simply, NULL);
        if (answered)
            continue;
        if (!said)
            away_say();
        said = true;
        if (!return_await(until, wait_simply, NULL) && !attention_is_called())
            return error_prefix(err, "Slurm's controller has not answered for %.0f s",
                                patience.seconds);
    }
    return 0;
}

bool slurm_controller_await(bool (*go_on)(void *arg, double seconds), void *arg)
{
    if (patience.seconds <= 0 || !controller_is_away(go_on, arg))
        return false;
    away_say();
    return_await(clock_now() + patience.seconds, go_on, arg);
    return true;
}
