#!/bin/sh
test_description='callbacks in C, and the examples of callbacks'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
train=$modules/train_model.so
examples=$stage/share/doc/raytrain/examples/callbacks
# library FILE SETTINGS...: a value for --set.
library () {
	echo "run_config.callbacks=({ type = \"library\"; path = \"$1\"; $2 })"
}
# compile NAME: NAME.so of NAME.c.
compile () {
	${CC:-cc} -Wall -Wextra -Werror -shared -fPIC -I"$stage/include" -o "$1.so" "$2"
}
# what RUN FILE: the output of a callback.
output () {
	cat "runs/$1/logs/callback-$2.log"
}

test_expect_success 'the example in C is compiled against the installed header, and gets all reports' '
	compile print "$examples/print.c" &&
	$run -n 2 --name print --set "$(library ./print.so "args = [\"accuracy\"];")" "$train" 2>err &&
	output print print.so >out && grep "^run print in $PWD/runs/print$" out &&
	test "$(grep -c "^iteration [1-5]: accuracy 0" out)" = 5 &&
	grep "^attempt_start: {.*\"workers\":2" out && tail -n 1 out | grep "the run has finished"
'
test_expect_success 'a callback in C is not called for a run that had finished before' '
	$run -n 2 --resume --name print --set "$(library ./print.so "args = [\"accuracy\"];")" \
		"$train" 2>err &&
	output print print.so >actual && test_cmp out actual
'
test_expect_success 'accessors give numbers, texts and the whole report' '
	cat >access.c <<-\EOT &&
	#include <raytrain_callback.h>
	#include <math.h>
	#include <stdio.h>
	static void on_report(void *self, const raytrain_callback_report *r)
	{
	    double loss = 0, none = 0;
	    (void)self;
	    if (raytrain_callback_number(r, "none", &none) == 0 ||
	        raytrain_callback_number(r, "note", &none) == 0 || raytrain_callback_text(r, "loss"))
	        puts("wrong");
	    raytrain_callback_number(r, "loss", &loss);
	    raytrain_callback_number(r, "nan", &none);
	    printf("%lld %g %d %s %s\n", (long long)raytrain_callback_iteration(r), loss,
	           isnan(none), raytrain_callback_text(r, "note"), raytrain_callback_json(r));
	}
	const raytrain_callback *raytrain_callback_library(void)
	{
	    static const raytrain_callback f = {.version = RAYTRAIN_CALLBACK_VERSION,
	                                        .on_report = on_report};
	    return &f;
	}
	EOT
	cat >values.py <<-\EOT &&
	import raytrain
	raytrain.report({"loss": 0.25, "note": "text", "nan": float("nan")})
	EOT
	compile access access.c &&
	$run --name access --set "$(library ./access.so)" -- "$PYTHON" values.py 2>err &&
	output access access.so >out && test "$(cut -d" " -f1-4 out)" = "1 0.25 1 text" &&
	cut -d" " -f5- out | jq -e ".loss == 0.25"
'
test_expect_success 'destroy is called at the end, and a create function may refuse' '
	cat >life.c <<-\EOT &&
	#include <raytrain_callback.h>
	#include <stdio.h>
	static int word = 7;
	static int create(int argc, char **argv, void **self)
	{
	    *self = &word;
	    printf("create %d %s\n", argc, argv[argc - 1]);
	    fflush(stdout);
	    return argc > 2;
	}
	static void destroy(void *self)
	{
	    printf("destroy %d\n", *(int *)self);
	}
	const raytrain_callback *raytrain_callback_library(void)
	{
	    static const raytrain_callback f = {
	        .version = RAYTRAIN_CALLBACK_VERSION, .create = create, .destroy = destroy};
	    return &f;
	}
	EOT
	compile life life.c &&
	$run --name life --set "$(library ./life.so "args = [\"a\"];")" "$train" 2>err &&
	output life life.so >actual && printf "create 2 a\ndestroy 7\n" >expected &&
	test_cmp expected actual &&
	start_run $run --name refused --set "$(library ./life.so "args = [\"a\", \"b\"];")" &&
	eventually grep "life.so has ended with status 3.*its create function has failed" err &&
	: >gate && wait $pid
'
cat >wrong.c <<'EOT'
#include <raytrain_callback.h>
#include <stdlib.h>
static void on_report(void *self, const raytrain_callback_report *r)
{
    (void)self;
    (void)r;
    WHAT;
}
const raytrain_callback *raytrain_callback_library(void)
{
    static const raytrain_callback f = {.version = VERSION, .on_report = on_report};
    return &f;
}
EOT
# wrong NAME WHAT VERSION: NAME.so whose on_report does WHAT.
wrong () {
	{ echo "#define WHAT $2"; echo "#define VERSION $3"; cat wrong.c; } >"$1.c" &&
	compile "$1" "$1.c"
}
test_expect_success 'a crash or an endless loop in it does not hurt the run' '
	wrong crash "abort()" 1 && wrong loop "for (;;) {}" 1 &&
	start_run $run --name crash --set "$(library ./crash.so)" &&
	eventually grep "crash.so was killed by signal 6" err && : >gate && wait $pid &&
	$run --name loop --set "$(library ./loop.so "grace_s = 0;")" "$train" 2>err &&
	grep "loop.so has not ended within 0 s" err && test -s runs/loop/checkpoint_000005.h5
'
test_expect_success 'a library that is not a callback is reported, and a missing file refused' '
	wrong old "(void)0" 99 &&
	start_run $run --name old --set "$(library ./old.so)" &&
	eventually grep "old.so has ended with status 3.*another version" err && : >gate && wait $pid &&
	echo "int nothing;" >other.c && compile other other.c &&
	start_run $run --name other --set "$(library ./other.so)" &&
	eventually grep "no function raytrain_callback_library" err && : >gate && wait $pid &&
	expect_status 3 $run --name no --set "$(library ./missing.so)" "$train" 2>err &&
	grep "library.path: .*missing.so" err &&
	expect_status 3 $run --name no --callback library "$train" 2>err && grep "path =" err
'

# -- the examples for `command` --

cat >webhook.py <<'EOT'
import http.server, json, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open("posted", "a") as f:
            print(body["text"], file=f)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open("port.tmp", "w") as f:
    print(server.server_port, file=f)
import os
os.rename("port.tmp", "port")
server.serve_forever()
EOT
test_expect_success 'notify.py posts to a webhook' '
	"$PYTHON" webhook.py & server=$! &&
	eventually test -f port &&
	$run --name notify --max-failures 1 --set "run_config.callbacks=({ type = \"command\";
		argv = [\"$PYTHON\", \"$examples/notify.py\", \"http://127.0.0.1:$(cat port)\"]; })" \
		"$modules/many_metrics.so" 5 4 2>err;
	kill $server; cat posted;
	grep "run notify has begun: $PWD/runs/notify" posted &&
	grep "attempt 0 has failed" posted && grep "has finished: train/loss 0.2, large" posted
'
test_expect_success 'notify.py without its webhook does not hurt the run' '
	$run --name alone --set "run_config.callbacks=({ type = \"command\";
		argv = [\"$PYTHON\", \"$examples/notify.py\", \"http://127.0.0.1:9/\"]; })" "$train" 2>err &&
	cat runs/alone/logs/callback-*.log | grep "cannot post to the webhook"
'
test_expect_success 'track.py keeps the metrics that count in a database' '
	$run --name track --max-failures 1 --set "run_config.callbacks=({ type = \"command\";
		argv = [\"$PYTHON\", \"$examples/track.py\", \"runs.db\"]; })" \
		"$modules/many_metrics.so" 6 5 2>err &&
	cat >read.py <<-\EOT &&
	import sqlite3
	rows = list(sqlite3.connect("runs.db").execute(
	    "select iteration, value from metrics where name = ? order by iteration",
	    ("train/loss",)))
	assert rows == [(i, 1 / i) for i in range(1, 7)], rows
	[status] = sqlite3.connect("runs.db").execute("select status from runs")
	assert status == ("finished",)
	EOT
	"$PYTHON" read.py
'
test_done
