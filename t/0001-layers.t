#!/bin/sh

test_description='The halls and rooms of the house: who includes whom, and where foreign headers live

Each check is a function of a source directory, so that it is also shown to find what it
is there for, in a small tree that breaks the rule.'

SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

# HALL ROOM, and the rooms whose headers ROOM may include besides its own, util and include.
# A single file of a room may have a line of its own for what it may include beyond that, and
# a single header may stand for a room: these are exceptions, each of which wants to go.
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
	launcher callback config
	launcher launch config
	launcher slurm launch protocol
	launcher local launch
	launcher watch callback launch protocol run config
	launcher watch train/worker_group.h train/stop_request.h slurm/job.h
	launcher train watch callback launch replica protocol run config
	launcher train slurm/job.h slurm/controller_wait.h slurm/surroundings.h
	worker wireup
	worker mpi comm backend/backend.h
	worker backend mpi wireup comm
	worker data wireup hdf5 comm config
	worker loop
	worker rank protocol run
	worker rank/worker.c session loop backend wireup config
	worker saving rank wireup replica run checkpoint comm config
	worker session saving rank data backend mpi wireup run checkpoint comm config
	cmd cmd/raytrain-run.c train slurm/job.h slurm/controller_wait.h
	cmd cmd/raytrain-worker.c rank
	cmd inspect run checkpoint config
	EOT
}

# includes DIR: "FILE HEADER" for each include, FILE from DIR; a foreign one is "FILE <HEADER".
includes () {
	(cd "$1" && grep -rE '^[[:blank:]]*#[[:blank:]]*include' --include='*.[ch]' .) |
	sed -n 's|^\./\([^:]*\):[^<"]*"\([^"]*\)".*|\1 \2|p; s|^\./\([^:]*\):[^<"]*\(<[^>]*\)>.*|\1 \2|p'
}

# Headers of rooms that the including room must not know.
wrong_rooms () {
	rooms >rooms.list &&
	includes "$1" >includes.list &&
	awk '
		NR == FNR {
			known[$2] = 1
			for (i = 3; i <= NF; i++)
				may[$2, $i] = 1
			next
		}
		{
			n = split($1, from, "/")
			room = from[n - 1]
			file = room "/" from[n]
			if (split($2, to, "/") != 2 || !(to[1] in known) || to[1] == room ||
				to[1] == "util")
				next
			if (!((room, to[1]) in may) && !((room, $2) in may) &&
				!((file, to[1]) in may) && !((file, $2) in may))
				print
		}
	' rooms.list includes.list
}

# Headers of another hall, or that are not named as ROOM/HEADER.
wrong_halls () {
	rooms >rooms.list &&
	includes "$1" >includes.list &&
	awk '
		NR == FNR { hall_of[$2] = $1; next }
		$2 ~ /^</ || $2 ~ /^(config|raytrain|raytrain_mpi)[.]h$/ { next }
		{
			split($1, from, "/")
			n = split($2, to, "/")
			hall = hall_of[to[1]]
			if (n == 1 && from[1] == "cmd")
				next
			if (n != 2 || hall == "" || (hall != "common" && hall != from[1] &&
				from[1] != "cmd"))
				print
		}
	' rooms.list includes.list
}

# One file of cmd/ is a launcher or a worker, not both.
both_halls () {
	rooms >rooms.list &&
	includes "$1" >includes.list &&
	awk '
		NR == FNR { hall_of[$2] = $1; next }
		$1 ~ /^cmd\// {
			split($2, to, "/")
			if (hall_of[to[1]] == "launcher")
				launcher[$1] = 1
			if (hall_of[to[1]] == "worker")
				worker[$1] = 1
		}
		END { for (file in launcher) if (file in worker) print file }
	' rooms.list includes.list
}

# HEADERS (a pattern) anywhere but in HOMES (a pattern of files).
abroad () {
	includes "$1" | awk -v headers="$2" -v homes="^($3)" '$2 ~ headers && $1 !~ homes'
}

# Includes in quotes that are no file of the house.
missing_headers () {
	includes "$1" | grep -v ' <' | sed 's/.* //' | sort -u | while read -r header; do
		case $header in
		*/*) ls "$1"/*/"$header" ;;
		config.h | raytrain*.h) ;;
		*) ls "$1/cmd/$header" ;;
		esac >/dev/null 2>&1 || echo "$header"
	done
}

# Anything but C files and a local.mk in a known room.
strangers () {
	rooms | awk '$2 !~ /\// { print $1 "/" $2 } END { print "cmd"; print "include" }' \
		>known.list &&
	(cd "$1" && find . ! -type d) | sed 's|^\./||' | while read -r file; do
		case ${file##*/} in
		*.c | *.h | local.mk) grep -qx "${file%/*}" known.list || echo "$file" ;;
		*) echo "$file" ;;
		esac
	done
}

# Base names that two folders have.
twins () {
	(cd "$1" && find . -name '*.[ch]') | sed 's|/\([^/]*\)\.[ch]$| \1|' | sort -u |
	awk '{ print $2 }' | sort | uniq -d
}

# Commands that start with srun, as strings.
srun_abroad () {
	(cd "$1" && grep -rnE '"srun("| )' --include='*.[ch]' .) |
	sed 's|^\./||' | grep -v '^launcher/slurm/'
}

# Sources that no local.mk names: they would be missing from the package.
unlisted () {
	find "$1" -name local.mk -exec cat {} + >lists &&
	cat "$1/../Makefile.am" >>lists &&
	(cd "$1" && find . -name '*.[ch]') | sed 's|^\./|src/|' | while read -r file; do
		grep -qF "$file" lists || echo "$file"
	done
}

# Library code that prints, or ends the process other than after a fork.
talkers () {
	(cd "$1" && grep -rnE '(^|[^a-z_])(printf|puts|perror|exit|vprintf) *\(|stderr' \
		common launcher worker) |
	grep -vE ':[[:blank:]]*(/?\*|//)' |
	grep -vE '^(launcher/callback/|worker/rank/(raytrain_main|worker)[.]c:)'
}

# flags_of HALL: with which its files are compiled.
flags_of () {
	printf 'include Makefile\nflags-of-hall:\n\t@echo $(%s_CPPFLAGS)\n' "$1" >flags.mk &&
	MAKEFLAGS='' make -s --no-print-directory -C "$builddir" -f "$PWD/flags.mk" flags-of-hall |
	tail -n 1 # Makefile may be made anew first
}
# finds HALL HEADER: does the compiler, for a file of this hall?
finds () {
	flags=$(flags_of "$1") &&
	echo "#include \"$2\"" >probe.c &&
	file=$PWD/probe.c &&
	(cd "$builddir" && ${CC:-cc} $flags -E -o /dev/null "$file") 2>err
}

test_expect_success 'a room includes what lies below it' '
	wrong_rooms "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'a hall includes itself and common, by the names of rooms' '
	wrong_halls "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'a command is a launcher or a worker' '
	both_halls "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'foreign headers stay at home' '
	abroad "$srcdir/src" "^<pmix" "worker/wireup/|launcher/local/" >found &&
	abroad "$srcdir/src" "^<pmix_server[.]h" "launcher/local/" >>found &&
	abroad "$srcdir/src" "^<(hdf5|H5)" "common/hdf5/|worker/data/reader_hdf5[.]c" >>found &&
	abroad "$srcdir/src" "^<libconfig" "common/config/config_file[.]c" >>found &&
	abroad "$srcdir/src" "^<mpi[.]h" "worker/mpi/|include/raytrain_mpi[.]h" >>found &&
	abroad "$srcdir/src" "raytrain_mpi[.]h" "worker/session/mpi_calls[.]c" >>found &&
	test_must_be_empty found
'

test_expect_success 'headers are there' '
	missing_headers "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'every file is in a known room' '
	strangers "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'every base name is there once' '
	twins "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'srun is started by the slurm launcher alone' '
	{ srun_abroad "$srcdir/src" >found || :; } &&
	test_must_be_empty found
'

test_expect_success 'every source is listed' '
	unlisted "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'libraries neither print nor exit' '
	{ talkers "$srcdir/src" >found || :; } &&
	test_must_be_empty found
'

test_expect_success 'nothing is left to be done later' '
	{ grep -rnwE "TODO|FIXME" "$srcdir/src" "$srcdir/share" >found || :; } &&
	test_must_be_empty found
'

test_expect_success 'the compiler keeps the halls apart' '
	for hall in COMMON LAUNCHER WORKER; do
		finds $hall util/error.h || return 1
	done &&
	finds LAUNCHER watch/report_pace.h && finds WORKER data/position.h &&
	for found in "COMMON watch/report_pace.h" "COMMON data/position.h" \
		"LAUNCHER data/position.h" "WORKER watch/report_pace.h"; do
		! finds $found && grep -E "report_pace|position" err || return 1
	done
'

# A copy of the tree with one include too many: of another hall, or of a room above.
test_expect_success 'an include that is planted is found, each way' '
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
	hall worker/rank/worker.c slurm/job.h
	room common/checkpoint/slab.c run/run_dir.h
	room launcher/launch/placement.c train/trainer.h
	room worker/saving/tiers.c session/session.h
	room worker/rank/heartbeat.c wireup/wireup.h
	EOT
	wrong_rooms copy/src >found && test_must_be_empty found
'

# The same functions on a tree where all of this is wrong.
test_expect_success 'a tree that breaks every rule' '
	mkdir -p bad/src/common/util/deep bad/src/common/config bad/src/common/run \
		bad/src/common/attic bad/src/cmd bad/src/worker/rank bad/src/launcher/local \
		bad/src/launcher/slurm bad/src/launcher/train &&
	: >bad/Makefile.am &&
	echo "libcommon_la_SOURCES += src/common/util/size.c" >bad/src/common/util/local.mk &&
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
	echo "void f(void) { exit(1); }" >bad/src/launcher/train/trainer.c &&
	echo "#include \"train/trainer.h\"" >bad/src/worker/rank/worker.c &&
	printf "#include \"train/trainer.h\"\n#include \"rank/worker.h\"\n" \
		>bad/src/cmd/raytrain-run.c &&
	: >bad/src/common/attic/old.c && : >bad/src/common/util/deep/x.c &&
	: >bad/src/common/util/notes.txt
'

test_expect_success 'is found out by every check' '
	wrong_rooms bad/src | sort >found &&
	printf "%s\n" "cmd/raytrain-run.c rank/worker.h" \
		"common/util/size.c config/options.h" "worker/rank/worker.c train/trainer.h" >expect &&
	test_cmp expect found &&
	wrong_halls bad/src | sort >found &&
	printf "%s\n" "common/util/size.c ../run/run.h" \
		"common/util/size.c src/launcher/train/trainer.h" \
		"worker/rank/worker.c train/trainer.h" >expect &&
	test_cmp expect found &&
	both_halls bad/src >found &&
	echo "cmd/raytrain-run.c" >expect &&
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
	abroad bad/src "^<pmix_server[.]h" "launcher/local/" >found &&
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
	talkers bad/src >found &&
	test 1 -eq $(wc -l <found) &&
	grep train/trainer.c found &&
	unlisted bad/src >found &&
	grep -x src/common/attic/old.c found &&
	! grep -x src/common/util/size.c found
'

test_done
