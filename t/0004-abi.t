#!/bin/sh
test_description='a program that was built with the API of t/abi/released.txt still works'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

# What programs depend on is in the header: functions, structs and values. So the two headers
# are compared as libraries of functions without a body, which needs no stored dump of a
# certain machine, compiler or version of abidiff.
CC=${CC:-cc}
header=$srcdir/src/include/raytrain.h
kept=$srcdir/t/abi/released.txt

for tool in abidiff nm objdump; do
	command -v $tool >/dev/null || {
		skip_all="there is no $tool (scripts/packages install test)"
		test_done
	}
done

without_comments () {
	sed 's,/\*.*\*/,,; /\/\*/,/\*\//d' "$1"
}
# functions_of HEADER: print the prototypes, one per line.
functions_of () {
	without_comments "$1" | tr '\n' ' ' | tr -s ' ' | grep -oE 'RAYTRAIN_API [^;]*\);'
}
names_of () {
	functions_of "$1" | grep -oE 'raytrain_[a-z0-9_]+ ?\(' | tr -d ' (' | sort
}
# types_of HEADER: print the names of enums and structs that are not opaque.
types_of () {
	without_comments "$1" | grep -oE '} raytrain_[a-z0-9_]+;' | tr -d '}; '
}
# library HEADER NAME: build NAME.so with all functions, and a variable of each type.
library () {
	cp "$1" raytrain.h &&
	{
		echo '#include "raytrain.h"' &&
		functions_of "$1" | sed 's/;$/ { __builtin_abort(); }/' &&
		types_of "$1" | sed 's/.*/RAYTRAIN_API & variable_&;/'
	} >"$2.c" &&
	$CC -g -w -shared -fPIC -o "$2.so" "$2.c"
}
# compatible OLD.so NEW.so: nothing has been removed or changed. Prints what has been.
compatible () {
	abidiff --no-added-syms "$1" "$2"
}
# changed NAME SED-SCRIPT: build the library of a header that has been edited.
changed () {
	sed "$2" "$kept" >"$1.h" && test_must_fail cmp -s "$1.h" "$kept" && library "$1.h" "$1"
}

test_expect_success 'build libraries from both headers' '
	library "$kept" kept && library "$header" current &&
	nm -D --defined-only kept.so >symbols && grep -w raytrain_report symbols &&
	grep -w variable_raytrain_status symbols && grep -w variable_raytrain_stream symbols
'
test_expect_success 'no function, struct or value has changed ("make update-abi" accepts a change)' '
	compatible kept.so current.so
'
test_expect_success 'the library has every function of the header' '
	names_of "$header" >expect && test "$(wc -l <expect)" -gt 50 &&
	nm -D --defined-only "$builddir/lib/libraytrain.so" | sed "s/.* //" | sort >exported &&
	comm -23 expect exported >missing && test_must_be_empty missing
'
test_expect_success 'programs look for libraytrain.so.0' '
	objdump -p "$builddir/lib/libraytrain.so" >dynamic &&
	grep -E "SONAME +libraytrain.so.0\$" dynamic
'
test_expect_success 'a function and a value that are added are compatible' '
	changed added "s/^RAYTRAIN_API bool raytrain_should_stop/RAYTRAIN_API int raytrain_added(void);\n&/
		s/^    RAYTRAIN_END .*/&,\n    RAYTRAIN_ADDED/" &&
	nm -D added.so | grep raytrain_added && grep RAYTRAIN_ADDED added.h &&
	compatible kept.so added.so
'
# detected TITLE SED-SCRIPT
detected () {
	edit=$2
	test_expect_success "$1 is detected" '
		changed broken "$edit" && test_must_fail compatible kept.so broken.so
	'
}
detected 'a removed function' '/raytrain_barrier/d'
detected 'another type of an argument' 's/size_t n_bytes,/int n_bytes,/'
detected 'another type of a result' 's/^RAYTRAIN_API bool raytrain_should_stop/RAYTRAIN_API double raytrain_should_stop/'
detected 'a new member of a struct' 's/^    raytrain_dtype dtype;/&\n    long more;/'
detected 'an array of another length' 's/RAYTRAIN_MAX_DIMS 8/RAYTRAIN_MAX_DIMS 9/'
detected 'a status with another value' '/^    RAYTRAIN_ENOTFOUND,/d'
detected 'an element type with another value' 's/RAYTRAIN_FLOAT32 = 1/RAYTRAIN_FLOAT32 = 2/'
test_done
