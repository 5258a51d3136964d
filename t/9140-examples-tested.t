#!/bin/sh
test_description='each example and each template for sbatch runs in a test'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

# tested NAME: does another script of t name it, or the program that is made of it?
tested () {
	find "$srcdir/t" -name "[0-9]*.t" ! -name "9140-*" |
	xargs grep -hE "(^|[^a-z_])($1|${1%.*}|${1%.*}\.so)([^a-z_.]|\$)" |
	grep -v "^test_description" | grep -q .
}
# part_of NAME: the example that it is a part of.
part_of () {
	case $1 in
	mlp.[ch] | mlp_kernels.h | mlp_cpu.c | fashion_mlp_main.c) echo fashion_mlp.c ;;
	hello_main.c) echo hello.c ;;
	*) echo "$1" ;;
	esac
}

for dir in examples sbatch; do
	test_expect_success "each file of share/$dir runs in a test" '
		find "$srcdir/share/$dir" -type f ! -name "*~" ! -path "*/__pycache__/*" >files &&
		test -s files &&
		while read -r file; do
			tested "$(part_of "$(basename "$file")")" ||
				{ echo "no test runs $file"; return 1; }
		done <files
	'
done
test_expect_success 'a file that no test runs is found' '
	! tested no_such_example.py
'
test_done
