#!/bin/sh

test_description='The layers of src: which rooms may include which, and where foreign headers are used

Each check is a function of a source directory, so that it can also be tested on a small tree
that breaks the rule.'

SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

# HALL ROOM, and the rooms whose headers ROOM may include in addition to its own, util and
# include. A line may be for a single file of a room, and may name a single header in place of
# a room: these are exceptions, to be removed one day. Rooms of two halls may have the same
# name.
rooms () {
	cat <<-\EOT
	common util
	common config
	common comm
	common hdf5
	common checkpoint hdf5 comm
	common run checkpoint hdf5 config
	common protocol run
	common replica run checkpoint hdf5 comm
	common pmix
	common site
	common event
	launcher tfevents run
	launcher view event config
	launcher callback view tfevents event run config
	launcher launch event protocol run config
	launcher show launch event protocol run config
	launcher slurm show launch event protocol run
	launcher local show launch event protocol run pmix
	launcher watch callback launch protocol run config
	launcher train watch callback show launch event replica protocol run config
	worker wireup pmix
	worker mpi comm
	worker average mpi comm
	worker backend mpi wireup comm config
	worker frame
	worker text frame comm
	worker preprocess frame hdf5 comm config
	worker table frame hdf5 comm config
	worker convert table text frame hdf5 comm config
	worker data convert table preprocess text frame wireup comm config
	worker predict data frame run hdf5 comm config
	worker serve predict preprocess frame protocol config
	worker loop
	worker rank site protocol run
	worker device comm
	worker saving device rank wireup replica run checkpoint comm config
	worker command average loop session saving rank predict data preprocess frame backend wireup mpi run checkpoint comm protocol config
	worker reduce session device rank wireup checkpoint
	worker session saving device rank serve predict data convert preprocess frame backend mpi wireup protocol run checkpoint hdf5 comm config
	worker life session rank loop backend wireup protocol run config
	worker task rank wireup protocol run
	worker probe gbdt session device mpi wireup rank run hdf5 comm protocol site config
	worker gbdt loop session rank data convert preprocess frame wireup comm config
	worker lightgbm gbdt comm config
	worker xgboost gbdt backend wireup comm config
	serve service protocol
	serve place
	serve crew event
	serve life crew place http service event run config
	serve http service infer protocol event
	launcher check train local event launch protocol run site config
	serve infer
	cmd cmd/program.c check train launch event config
	cmd cmd/program.h config
	cmd cmd/raytrain-run.c train config
	cmd cmd/prediction.h config
	cmd cmd/prediction.c run checkpoint
	cmd cmd/raytrain-predict.c run
	cmd cmd/serve_choice.h config
	cmd cmd/serve_choice.c run checkpoint event config
	cmd cmd/serve_workers.h config
	cmd cmd/serve_workers.c crew launch local config
	cmd cmd/raytrain-serve.c crew life http place run event config
	cmd cmd/raytrain-worker.c command life rank loop probe protocol
	cmd cmd/raytrain-task.c task
	cmd cmd/raytrain-pmix.c pmix
	cmd cmd/raytrain-keeper.c show slurm local
	cmd inspect/follow.c protocol
	cmd plot run
	cmd inspect plot gbdt data preprocess frame hdf5 run checkpoint config
	cmd inspect/raytrain-inspect.c page
	cmd page inspect run config
	cmd report protocol
	EOT
}

# includes DIR: "FILE HEADER" for each include, FILE from DIR; a foreign one is "FILE <HEADER".
includes () {
	(cd "$1" && grep -rE '^[[:blank:]]*#[[:blank:]]*include' --include='*.[ch]' .) |
	sed -n 's|^\./\([^:]*\):[^<"]*"\([^"]*\)".*|\1 \2|p; s|^\./\([^:]*\):[^<"]*\(<[^>]*\)>.*|\1 \2|p'
}

# Includes of rooms that the including room must not include.
wrong_rooms () {
	rooms >rooms.list &&
	includes "$1" >includes.list &&
	awk '
		NR == FNR {
			known[$2] = 1
			for (i = 3; i <= NF; i++)
				may[$1, $2, $i] = 1
			next
		}
		{
			n = split($1, from, "/")
			hall = from[1]
			room = from[n - 1]
			file = room "/" from[n]
			if (split($2, to, "/") != 2 || !(to[1] in known) || to[1] == room ||
				to[1] == "util")
				next
			if (!((hall, room, to[1]) in may) && !((hall, room, $2) in may) &&
				!((hall, file, to[1]) in may) && !((hall, file, $2) in may))
				print
		}
	' rooms.list includes.list
}

# Includes of another hall, or not of the form ROOM/HEADER.
wrong_halls () {
	rooms >rooms.list &&
	includes "$1" >includes.list &&
	awk '
		NR == FNR { known[$2] = in_hall[$1, $2] = 1; next }
		$2 ~ /^</ || $2 ~ /^(config|raytrain|raytrain_mpi)[.]h$/ { next }
		{
			split($1, from, "/")
			n = split($2, to, "/")
			if (n == 1 && from[1] == "cmd")
				next
			if (n != 2 || !(to[1] in known) || (!(("common", to[1]) in in_hall) &&
				!((from[1], to[1]) in in_hall) && from[1] != "cmd"))
				print
		}
	' rooms.list includes.list
}

# Files of cmd/ that include headers of the launcher and of the worker.
both_halls () {
	(cd "$1" && find . -name '*.h') | sed -n 's|^\./\([^/]*\)/|\1 |p' >headers.list &&
	includes "$1" >includes.list &&
	awk '
		NR == FNR { hall_of[$2] = $1; next }
		$1 ~ /^cmd\// {
			if (hall_of[$2] == "launcher")
				launcher[$1] = 1
			if (hall_of[$2] == "worker")
				worker[$1] = 1
		}
		END { for (file in launcher) if (file in worker) print file }
	' headers.list includes.list
}

# abroad DIR HEADERS HOMES: includes of these headers (a pattern) outside these files (a
# pattern).
abroad () {
	includes "$1" | awk -v headers="$2" -v homes="^($3)" '$2 ~ headers && $1 !~ homes'
}

# Includes in quotes that do not exist.
missing_headers () {
	includes "$1" | grep -v ' <' | sed 's/.* //' | sort -u | while read -r header; do
		case $header in
		*.pb-c.h) ls "$1"/*/"${header%.pb-c.h}.proto" ;; # generated
		*/*) ls "$1"/*/"$header" ;;
		config.h | raytrain*.h) ;;
		*) ls "$1/cmd/$header" ;;
		esac >/dev/null 2>&1 || echo "$header"
	done
}

# Files that are not C files, a header for C++, messages of protobuf, parts of a page or a
# local.mk in a known room.
strangers () {
	rooms | awk '$2 !~ /\// { print $1 "/" $2 } END { print "cmd"; print "include" }' \
		>known.list &&
	(cd "$1" && find . ! -type d) | sed 's|^\./||' | while read -r file; do
		case ${file##*/} in
		*.c | *.h | *.hpp | *.proto | *.css | *.js | *.html | local.mk)
			grep -qx "${file%/*}" known.list || echo "$file" ;;
		*) echo "$file" ;;
		esac
	done
}

# Base names that exist in two folders.
twins () {
	(cd "$1" && find . -name '*.[ch]') | sed 's|/\([^/]*\)\.[ch]$| \1|' | sort -u |
	awk '{ print $2 }' | sort | uniq -d
}

# Strings that start with srun, outside the slurm launcher.
srun_abroad () {
	(cd "$1" && grep -rnE '"srun("| )' --include='*.[ch]' .) |
	sed 's|^\./||' | grep -v '^launcher/slurm/'
}

# Names of the slurm room in other rooms, which use the tables of launch/ instead.
slurm_abroad () {
	(cd "$1" && grep -rnwE 'slurm_[a-z_]+' --include='*.[ch]' .) |
	sed 's|^\./||' | grep -v '^launcher/slurm/'
}

# Sources that no local.mk lists: they would be missing from the package.
unlisted () {
	find "$1" -name local.mk -exec cat {} + >lists &&
	cat "$1/../Makefile.am" >>lists &&
	(cd "$1" && find . -name '*.[ch]') | sed 's|^\./|src/|' | while read -r file; do
		grep -qF "$file" lists || echo "$file"
	done
}

# Sources that do not begin with a comment "NAME - what it is", or only refer to their header.
headless () {
	(cd "$1" && find . -name '*.[ch]' | sed 's|^\./||' | sort | xargs awk '
		function judge() {
			sub(/^\/\*[ *]* /, "", text)
			sub(/ *\*\/.*/, "", text)
			sub(/.*\//, "", name)
			if (index(text, name " - ") != 1 || text ~ / - see [a-z0-9_]+[.]h[.]?$/)
				print file
		}
		FNR == 1 && file { judge() }
		FNR == 1 { file = name = FILENAME; text = "" }
		FNR <= 3 { text = text $0 " " }
		END { if (file) judge() }
	')
}

# clashing DIR ROOM...: the rooms below DIR that do not compile as one file.
clashing () {
	dir=$1 && shift &&
	printf 'include Makefile\nflags:\n\t@:\n$(info $(DEFS) $(DEFAULT_INCLUDES) $(%s) $(%s))\n' \
		AM_CPPFLAGS 'filter-out -M%,$(AM_CFLAGS)' >flags.mk && # with their quotes
	flags=$(MAKEFLAGS='' make -s --no-print-directory -C "$builddir" -f "$PWD/flags.mk" flags |
		tail -n 1) &&
	for room; do
		find "$dir/$room" -name '*.c' | LC_ALL=C sort | sed 's|.*|#include "&"|' >one_file.c &&
		file=$PWD/one_file.c &&
		(
			cd "$builddir" &&
			eval "${CC:-cc} $flags -I\"\$srcdir/src/cmd\" -w -fsyntax-only \"\$file\""
		) 2>>clashes || echo "$room"
	done
}

# Library code that prints, or ends the process other than after a fork.
talkers () {
	(cd "$1" && grep -rnE '(^|[^a-z_])(printf|puts|perror|exit|vprintf) *\(|stderr' \
		common launcher worker serve) |
	grep -vE ':[[:blank:]]*(/?\*|//)' |
	grep -vE '^(launcher/callback/|worker/life/worker[.]c:)'
}

# flags_of HALL: print the flags with which its files are compiled.
flags_of () {
	printf 'include Makefile\nflags-of-hall:\n\t@echo $(%s_CPPFLAGS)\n' "$1" >flags.mk &&
	MAKEFLAGS='' make -s --no-print-directory -C "$builddir" -f "$PWD/flags.mk" flags-of-hall |
	tail -n 1 # Makefile may be made again first
}
# finds HALL HEADER: the compiler finds the header for a file of this hall.
finds () {
	flags=$(flags_of "$1") &&
	echo "#include \"$2\"" >probe.c &&
	file=$PWD/probe.c &&
	(cd "$builddir" && ${CC:-cc} $flags -E -o /dev/null "$file") 2>err
}

test_expect_success 'a room includes only rooms below it' '
	wrong_rooms "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'a hall includes only headers of itself and of common, as ROOM/NAME.h' '
	wrong_halls "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'no file of cmd includes headers of both halls' '
	both_halls "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'a foreign header is included only in its home' '
	abroad "$srcdir/src" "^<pmix" "worker/wireup/|common/pmix/" >found &&
	abroad "$srcdir/src" "^<pmix_server[.]h" "common/pmix/" >>found &&
	abroad "$srcdir/src" "^<(hdf5|H5)" "common/hdf5/|worker/table/reader_hdf5(_chunks|_strings)?[.]" >>found &&
	abroad "$srcdir/src" "^<libconfig" "common/config/config_file[.]c" >>found &&
	abroad "$srcdir/src" "^<mpi[.]h" "worker/mpi/|include/raytrain_mpi[.]h" >>found &&
	abroad "$srcdir/src" "pb-c[.]h" "launcher/tfevents/" >>found &&
	abroad "$srcdir/src" "raytrain_mpi[.]h" "worker/session/mpi_calls[.]c" >>found &&
	test_must_be_empty found
'

test_expect_success 'every included header exists' '
	missing_headers "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'every file of src is in a known room' '
	strangers "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'base names are unique in src' '
	twins "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'only the slurm launcher starts srun' '
	{ srun_abroad "$srcdir/src" >found || :; } &&
	test_must_be_empty found
'

test_expect_success 'other rooms use the slurm room through tables only' '
	{ slurm_abroad "$srcdir/src" >found || :; } &&
	test_must_be_empty found
'

test_expect_success 'every source is listed in a local.mk' '
	unlisted "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'each source begins with its name and what it is' '
	headless "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'a source without a head, or with an empty one, is detected' '
	mkdir -p heads/src/common/util &&
	(
		cd heads/src/common/util &&
		printf "/* good.c - is good. */\nint x;\n" >good.c &&
		printf "/*\n * also.h - is good.\n *\n * More.\n */\n" >also.h &&
		printf "#include \"none.h\"\n/* none.c - late. */\n" >none.c &&
		printf "/* other.c - is not its name. */\n" >name.c &&
		printf "/* empty.c - see empty.h. */\nint y;\n" >empty.c
	) &&
	headless heads/src >found &&
	printf "common/util/%s\n" empty.c name.c none.c >expect &&
	test_cmp expect found
'

test_expect_success 'library code neither prints nor exits' '
	{ talkers "$srcdir/src" >found || :; } &&
	test_must_be_empty found
'

test_expect_success 'files of a room are in no circle, by their includes or by their calls' '
	python3 "$srcdir/t/check/file_circles.py" "$srcdir/src" "$builddir/src" >found &&
	test_must_be_empty found
'

# Not circles: a table of an implementation that calls the file with the table, and a header
# for the inside of a file.
test_expect_success 'a circle of files is detected, by their includes and by their calls' '
	room=ring/hall/room &&
	mkdir -p $room ring/hall/other &&
	echo "#include \"room/b.h\"" >$room/a.h &&
	echo "#include \"room/c.h\"" >$room/b.h &&
	echo "#include \"a.h\"" >$room/c.c &&
	echo "#include \"room/a.h\"" >ring/hall/other/d.h &&
	echo "#include \"other/d.h\"" >>$room/c.c &&
	echo "#include \"room/i.h\"" >$room/i_impl.h &&
	echo "#include \"room/i_impl.h\"" >$room/i.c &&
	echo "void f(void); void e(void); void e(void) { f(); }" >$room/e.c &&
	echo "void e(void); void f(void); void f(void) { e(); }" >$room/f.c &&
	echo "extern int h, *g(void); int *g(void) { return &h; }" >$room/g.c &&
	echo "extern int h, *g(void); int h; int *i(void); int *i(void) { return g(); }" >$room/h.c &&
	for file in e f g h; do
		${CC:-cc} -c -o $room/$file.o $room/$file.c || return 1
	done &&
	python3 "$srcdir/t/check/file_circles.py" ring ring >found &&
	printf "%s\n" "includes hall/room/a hall/room/b hall/room/c" \
		"calls hall/room/e hall/room/f" >expect &&
	test_cmp expect found
'

# Then a name leads to one function.
test_expect_success 'a room compiles as one file' '
	clashing "$srcdir/src" $(rooms | sed -n "/\//!s| \([^ ]*\).*|/\1|p" | LC_ALL=C sort) >found &&
	test_must_be_empty found
'

test_expect_success 'two functions of the same name in a room are detected' '
	mkdir -p same/hall/room same/hall/other &&
	echo "static int f(void) { return 1; }" >same/hall/room/a.c &&
	echo "static int f(void) { return 2; }" >same/hall/room/b.c &&
	cp same/hall/room/a.c same/hall/other/ &&
	echo "static int g(void) { return 1; }" >same/hall/other/b.c &&
	clashing "$PWD/same" hall/other hall/room >found &&
	echo hall/room >expect &&
	test_cmp expect found
'

test_expect_success 'modules of the Python client have layers, and are in no circle' '
	python3 "$srcdir/t/check/python_layers.py" "$srcdir/share/python/raytrain" >found &&
	test_must_be_empty found
'

test_expect_success 'a circle of modules, or an import of a layer above, is detected' '
	python () { cp -R "$srcdir/share/python/raytrain" "$1" && chmod -R u+w "$1"; } &&
	python circle && printf "def f():\n    from .collective import barrier\n" >>circle/_wire.py &&
	python above && echo "import raytrain.serve" >>above/collective.py &&
	for tree in circle above; do
		python3 "$srcdir/t/check/python_layers.py" $tree || return 1
	done >found &&
	grep "^circle: .*_wire -> collective" found &&
	grep "^collective:.*: imports serve of a layer above" found
'

test_expect_success 'no source has a TODO or FIXME' '
	{ grep -rnwE "TODO|FIXME" "$srcdir/src" "$srcdir/share" >found || :; } &&
	test_must_be_empty found
'

test_expect_success 'the compiler of one hall does not find headers of another' '
	for hall in COMMON LAUNCHER WORKER SERVE; do
		finds $hall util/error.h || return 1
	done &&
	finds LAUNCHER watch/node_survey.h && finds WORKER table/row_order.h &&
	finds SERVE infer/infer.h &&
	for found in "COMMON watch/node_survey.h" "COMMON table/row_order.h" \
		"LAUNCHER table/row_order.h" "WORKER watch/node_survey.h" \
		"SERVE table/row_order.h" "SERVE watch/node_survey.h" "COMMON infer/infer.h" \
		"LAUNCHER infer/infer.h" "WORKER infer/infer.h"; do
		! finds $found && grep -E "node_survey|row_order|infer" err || return 1
	done
'

# A copy of the tree gets one include too many: of another hall, or of a room above.
test_expect_success 'an include of another hall, or of a room above, is detected' '
	mkdir copy && cp -R "$srcdir/src" copy/ && chmod -R u+w copy &&
	while read -r what file header; do
		cp "copy/src/$file" saved &&
		echo "#include \"$header\"" >>"copy/src/$file" &&
		echo "$file $header" >expect &&
		wrong_rooms copy/src >found && test_cmp expect found &&
		wrong_halls copy/src >found &&
		if test $what = hall; then
			test_cmp expect found
		else
			test_must_be_empty found
		fi &&
		cp saved "copy/src/$file" || return 1
	done <<-\EOT &&
	hall common/run/run_dir.c train/trainer.h
	hall common/protocol/events.h session/session.h
	hall launcher/train/trainer.c session/session.h
	hall launcher/launch/launcher.h data/dataset.h
	hall worker/session/session.c train/trainer.h
	hall worker/life/worker.c slurm/job.h
	hall serve/infer/metadata.c session/session.h
	hall worker/session/session.c infer/infer.h
	room common/checkpoint/slab.c run/run_dir.h
	room launcher/launch/placement.c train/trainer.h
	room launcher/watch/watch.c train/worker_group.h
	room launcher/train/trainer.c slurm/job.h
	room cmd/program.c slurm/job.h
	room worker/saving/tiers.c session/session.h
	room worker/rank/heartbeat.c wireup/wireup.h
	EOT
	wrong_rooms copy/src >found && test_must_be_empty found
'

# The same checks on a tree that breaks every rule.
# other_words DIR: words for which HACKING.md, "Words", has another one: a GPU is not a card, and
# a version not an edition. The colours of the page have --card.
other_words () {
	grep -rnE '(^|[^a-z-])([Cc]ards?|editions?)([^a-z]|$)' --include='*.[chp1-9]*' "$1"
}

test_expect_success 'one thing has one word: a GPU is not a card, a version is not an edition' '
	{ other_words "$srcdir/src"; other_words "$srcdir/share"; :; } >found &&
	test_must_be_empty found
'

test_expect_success 'set up a tree that breaks every rule' '
	mkdir -p bad/src/common/util/deep bad/src/common/config bad/src/common/run \
		bad/src/common/attic bad/src/cmd bad/src/worker/rank bad/src/serve \
		bad/src/launcher/local \
		bad/src/launcher/slurm bad/src/launcher/train &&
	: >bad/Makefile.am &&
	echo "libcommon_a_SOURCES += src/common/util/size.c" >bad/src/common/util/local.mk &&
	cat >bad/src/common/util/size.c <<-\EOT &&
	#include "config/options.h"
	  # include <mpi.h>
	#include "util/none.h"
	#include "src/launcher/train/trainer.h"
	#include "../run/run.h"
	/* printf(this is a comment) */
	EOT
	echo "#include <libconfig.h>" >bad/src/common/config/options.c &&
	echo "#include <hdf5.h>" >bad/src/common/config/options.h &&
	echo "#include <pmix_server.h>" >bad/src/common/run/run.c &&
	echo "static const char *argv[] = {\"srun\", NULL};" >bad/src/launcher/local/fork.c &&
	echo "static const char *argv[] = {\"srun\", NULL};" >bad/src/launcher/slurm/run.h &&
	echo "int slurm_ask(void);" >bad/src/launcher/slurm/tool.h &&
	echo "static int n = slurm_ask();" >bad/src/launcher/train/ask.c &&
	echo "void f(void) { exit(1); }" >bad/src/launcher/train/trainer.c &&
	printf "%s\n" "/* The cards of a rank. */" "struct model_edition;" >bad/src/worker/rank/worker.h &&
	echo "#include \"train/trainer.h\"" >bad/src/worker/rank/worker.c &&
	printf "#include \"train/trainer.h\"\n#include \"rank/worker.h\"\n" \
		>bad/src/cmd/program.c &&
	: >bad/src/launcher/train/trainer.h &&
	: >bad/src/common/attic/old.c && : >bad/src/common/util/deep/x.c &&
	: >bad/src/common/util/notes.txt
'

test_expect_success 'every check detects the violations in a tree that breaks every rule' '
	wrong_rooms bad/src | sort >found &&
	printf "%s\n" "cmd/program.c rank/worker.h" \
		"common/util/size.c config/options.h" "worker/rank/worker.c train/trainer.h" >expect &&
	test_cmp expect found &&
	wrong_halls bad/src | sort >found &&
	printf "%s\n" "common/util/size.c ../run/run.h" \
		"common/util/size.c src/launcher/train/trainer.h" \
		"worker/rank/worker.c train/trainer.h" >expect &&
	test_cmp expect found &&
	both_halls bad/src >found &&
	echo "cmd/program.c" >expect &&
	test_cmp expect found &&
	abroad bad/src "^<mpi[.]h" "worker/mpi/" >found &&
	echo "common/util/size.c <mpi.h" >expect &&
	test_cmp expect found &&
	abroad bad/src "^<libconfig" "common/config/config_file[.]c" >found &&
	echo "common/config/options.c <libconfig.h" >expect &&
	test_cmp expect found &&
	abroad bad/src "^<(hdf5|H5)" "common/hdf5/" >found &&
	echo "common/config/options.h <hdf5.h" >expect &&
	test_cmp expect found &&
	abroad bad/src "^<pmix_server[.]h" "common/pmix/" >found &&
	echo "common/run/run.c <pmix_server.h" >expect &&
	test_cmp expect found &&
	missing_headers bad/src >found &&
	grep -x util/none.h found &&
	strangers bad/src | sort >found &&
	printf "%s\n" common/attic/old.c common/util/deep/x.c common/util/notes.txt >expect &&
	test_cmp expect found &&
	twins bad/src >found &&
	echo run >expect &&
	test_cmp expect found &&
	srun_abroad bad/src >found &&
	test 1 -eq $(wc -l <found) &&
	grep launcher/local/fork.c found &&
	slurm_abroad bad/src >found &&
	test 1 -eq $(wc -l <found) &&
	grep launcher/train/ask.c found &&
	talkers bad/src >found &&
	test 1 -eq $(wc -l <found) &&
	grep train/trainer.c found &&
	other_words bad/src >found &&
	test 2 -eq $(wc -l <found) &&
	grep "worker.h:1:" found && grep "worker.h:2:" found &&
	unlisted bad/src >found &&
	grep -x src/common/attic/old.c found &&
	! grep -x src/common/util/size.c found
'

test_done
