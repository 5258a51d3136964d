#!/bin/sh

test_description='The rooms of the house: who includes whom, and where foreign headers live

Each check is a function of a source directory, so that it is also shown to find what it
is there for, in a small tree that breaks the rule.'

SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

# room: the rooms whose headers it may include besides its own, util and include.
# backend.h, comm.h and wireup.h are seams; the launcher half never sees the worker half.
rooms () {
	cat <<-\EOF
	include
	util
	config
	wireup config
	store wireup config
	callback store config
	launch store wireup config
	train launch callback store config
	data store wireup config
	backend wireup config
	gbdt data store wireup config
	predict data store wireup config
	worker backend gbdt predict data store wireup config
	cmd train callback launch worker store config
	EOF
}

# includes DIR: "FILE HEADER" for each include, without quotes; FILE from DIR.
includes () {
	(cd "$1" && grep -rE '^[[:blank:]]*#[[:blank:]]*include' --include='*.[ch]' .) |
	sed -n 's|^\./\([^:]*\):[^<"]*[<"]\([^>"]*\)[>"].*|\1 \2|p'
}

# Headers of rooms that the including room must not know; "config.h" is of the build.
wrong_rooms () {
	rooms >rooms.list &&
	includes "$1" >includes.list &&
	awk '
		NR == FNR {
			known[$1] = 1
			for (i = 2; i <= NF; i++)
				may[$1, $i] = 1
			next
		}
		{ split($1, from, "/"); n = split($2, to, "/") }
		n == 2 && (to[1] in known) && to[1] != from[1] && to[1] != "util" &&
			to[1] != "include" && !((from[1], to[1]) in may) { print }
	' rooms.list includes.list
}

# One file of cmd/ is a launcher or a worker, not both.
both_halves () {
	includes "$1" | awk '
		$1 ~ /^cmd\// && $2 ~ /^(train|launch|callback)\// { launcher[$1] = 1 }
		$1 ~ /^cmd\// && $2 ~ /^(worker|backend|data)\// { worker[$1] = 1 }
		END { for (file in launcher) if (file in worker) print file }
	'
}

# HEADERS (a pattern) anywhere but in HOMES (a pattern of files).
abroad () {
	includes "$1" | awk -v headers="$2" -v homes="$3" \
		'$2 ~ headers && $1 !~ homes { print }'
}

# Quoted includes that are no file of ours.
missing_headers () {
	includes "$1" | awk '$2 ~ /\// && $2 !~ /^(sys|linux|net|netinet|arpa)\// { print $2 }' |
	sort -u | while read -r header; do
		test -e "$1/$header" || echo "$header"
	done
}

# Anything but C files and a local.mk in a known room, one level deep.
strangers () {
	rooms | sed 's/ .*//' >known.list &&
	(cd "$1" && find . ! -type d) | sed 's|^\./||' | while read -r file; do
		room=${file%%/*}
		name=${file#*/}
		case $name in
		*/* | "$file") echo "$file" ;;
		*.c | *.h | local.mk) grep -qx "$room" known.list || echo "$file" ;;
		*) echo "$file" ;;
		esac
	done
}

# Commands that start with srun, as strings.
srun_abroad () {
	(cd "$1" && grep -rnE '"srun("| )' --include='*.[ch]' .) |
	sed 's|^\./||' | grep -v '^launch/slurm[a-z_]*\.c:'
}

# Sources that no local.mk names: they would be missing from the package.
unlisted () {
	(cd "$1" && find . -name '*.[ch]') | sed 's|^\./|src/|' | while read -r file; do
		grep -qF "$file" "$1"/*/local.mk "$1/../Makefile.am" || echo "$file"
	done
}

# Library code that prints, or ends the process other than after a fork.
talkers () {
	(cd "$1" && grep -rnE '(^|[^a-z_])(printf|puts|perror|exit|vprintf) *\(|stderr' \
		util config wireup store data backend launch train) |
	grep -vE ':[[:blank:]]*(/?\*|//)'
}

test_expect_success 'a room includes what lies below it' '
	wrong_rooms "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'a command is a launcher or a worker' '
	both_halves "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'foreign headers stay at home' '
	abroad "$srcdir/src" "^pmix" "^wireup/" >found &&
	abroad "$srcdir/src" "^(hdf5|H5)" "^(store|data)/" >>found &&
	abroad "$srcdir/src" "^libconfig" "^config/config_file[.]c$" >>found &&
	abroad "$srcdir/src" "^mpi[.]h$" \
		"^(backend/|include/raytrain_mpi[.]h$|worker/session_mpi[.]c$)" >>found &&
	abroad "$srcdir/src" "raytrain_mpi[.]h$" "^(backend|worker)/" >>found &&
	test_must_be_empty found
'

test_expect_success 'headers are named by their rooms' '
	missing_headers "$srcdir/src" >found &&
	test_must_be_empty found
'

test_expect_success 'every file is in a known room' '
	strangers "$srcdir/src" >found &&
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

# The same functions on a tree where all of this is wrong.
test_expect_success 'a tree that breaks every rule' '
	mkdir -p bad/src/util/deep bad/src/config bad/src/store bad/src/attic bad/src/cmd \
		bad/src/wireup bad/src/data bad/src/backend bad/src/launch bad/src/train &&
	: >bad/Makefile.am &&
	echo "libshared_la_SOURCES += src/util/size.c" >bad/src/util/local.mk &&
	cat >bad/src/util/size.c <<-\EOF &&
	#include "config/options.h"
	  # include <mpi.h>
	#include "util/none.h"
	/* printf(this is a comment) */
	EOF
	echo "#include <libconfig.h>" >bad/src/config/options.c &&
	echo "#include <hdf5.h>" >bad/src/config/options.h &&
	echo "#include <pmix_server.h>" >bad/src/store/run.c &&
	echo "static const char *argv[] = {\"srun\", NULL};" >bad/src/launch/local.c &&
	echo "static const char *argv[] = {\"srun\", NULL};" >bad/src/launch/slurm.c &&
	echo "void f(void) { exit(1); }" >bad/src/train/trainer.c &&
	printf "#include \"train/trainer.h\"\n#include \"worker/worker.h\"\n" \
		>bad/src/cmd/raytrain-run.c &&
	: >bad/src/attic/old.c && : >bad/src/util/deep/x.c && : >bad/src/util/notes.txt
'

test_expect_success 'is found out by every check' '
	wrong_rooms bad/src >found &&
	echo "util/size.c config/options.h" >expect &&
	test_cmp expect found &&
	both_halves bad/src >found &&
	echo "cmd/raytrain-run.c" >expect &&
	test_cmp expect found &&
	abroad bad/src "^mpi[.]h$" "^backend/" >found &&
	echo "util/size.c mpi.h" >expect &&
	test_cmp expect found &&
	abroad bad/src "^libconfig" "^config/config_file[.]c$" >found &&
	echo "config/options.c libconfig.h" >expect &&
	test_cmp expect found &&
	missing_headers bad/src >found &&
	grep -x util/none.h found &&
	strangers bad/src | sort >found &&
	printf "%s\n" attic/old.c util/deep/x.c util/notes.txt >expect &&
	test_cmp expect found &&
	srun_abroad bad/src >found &&
	test 1 -eq $(wc -l <found) &&
	grep launch/local.c found &&
	talkers bad/src >found &&
	test 1 -eq $(wc -l <found) &&
	grep train/trainer.c found &&
	unlisted bad/src >found &&
	grep -x src/attic/old.c found &&
	! grep -x src/util/size.c found
'

test_done
