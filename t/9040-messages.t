#!/bin/sh
test_description='every text of an error has the form that users rely on'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

messages="python3 $srcdir/t/check/messages.py"

# refused WHAT TEXT: the text, as that of an error in C, is refused for this reason.
refused () {
	rm -rf wrong && mkdir wrong &&
	printf '%s\n' 'int error_set(struct error *err, int code, const char *fmt, ...)' \
		'__attribute__((format(printf, 3, 4)));' "int f(void) { $2 }" >wrong/a.c &&
	expect_status 1 $messages wrong >out && grep -F "wrong/a.c:3: $1" out
}

test_expect_success 'all texts of errors in C and Python have the form' '
	$messages "$srcdir/src" "$srcdir/share/python" >out || { cat out; return 1; }
	test "$(sed -n "s/ texts, 0 wrong$//p" out)" -gt 1500
'
while IFS='|' read -r what text; do
	test_expect_success "a text is refused if $what" "refused '$what' '$text'"
done <<\EOF
it is empty|error_set(e, RAYTRAIN_EINVAL, "");
it ends with a space or a newline|error_set(e, RAYTRAIN_EINVAL, "no file %s\n", f);
it ends with a full stop|error_set(e, RAYTRAIN_EINVAL, "no file %s; make " "it.", f);
it begins with a capital|error_set(e, RAYTRAIN_EINVAL, "There is no file %s; make it", f);
it is not ASCII|error_set(e, RAYTRAIN_EINVAL, "no file %s – make it", f);
it has two spaces or a tab|error_set(e, RAYTRAIN_EINVAL, "no file %s;  make it", f);
it does not say what to type|error_set(e, RAYTRAIN_EUSAGE, "--%s takes no argument", f);
it has the word|error_set(e, RAYTRAIN_EINVAL, "no file %s; please make it", f);
it names nothing|error_set(e, RAYTRAIN_ESTORAGE, "bad storage");
it gives no cause|error_set(e, RAYTRAIN_ESTORAGE, "bad storage %s", f);
it does not mention memory|error_set(e, RAYTRAIN_ENOMEM, "too large");
EOF
test_expect_success 'both texts of a conditional expression are examined' '
	refused "it ends with a full stop" "return error_set(err(), RAYTRAIN_EINVAL,
		a ? \"no file %s (%c)\" : \"no such %s.\", x);"
'
test_expect_success 'exceptions in Python are examined' '
	rm -rf wrong && mkdir wrong && cat >wrong/a.py <<-\EOF &&
	def f(x):
	    raise ValueError(f"No {x}")
	EOF
	expect_status 1 $messages wrong >out && grep "wrong/a.py:2: it begins with a capital" out
'
test_done
