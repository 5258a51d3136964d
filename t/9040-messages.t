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
	test "$(sed -n "s/ texts, 0 wrong$//p" out)" -gt 1800
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
test_expect_success 'texts of macros, and of functions that are declared after one, are examined' '
	rm -rf wrong && mkdir wrong && cat >wrong/a.c <<-\EOF &&
	#define REFUSE(err) \
	    note(err, "no %s.", x)
	int note(struct error *err, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));
	int f(void) { return note(err, "No %s", x); }
	EOF
	expect_status 1 $messages wrong >out &&
	grep "wrong/a.c:[12]: it ends with a full stop" out &&
	grep "wrong/a.c:5: it begins with a capital" out
'
test_expect_success 'exceptions and warnings in Python are examined, however the text is made' '
	rm -rf wrong && mkdir wrong && cat >wrong/a.py <<-\EOF &&
	def f(x):
	    raise ValueError(f"No {x}")
	    raise Refused("No %s" % x)
	    raise ValueError("no {x}, " + x + ".") from None
	    raise ValueError("No {}".format(x))
	    raise ValueError("no x" if x else "No y")
	    return errors.InvalidArgument(f"No {x}")
	    self.warn("No x")
	    warnings.warn("No x")
	    sys.exit("No x")
	def g(x):
	    why = "No x"
	    raise ValueError(why)
	EOF
	expect_status 1 $messages wrong >out &&
	for line in 2 3 5 6 7 8 9 10 13; do
		grep "wrong/a.py:$line: it begins with a capital" out || return 1
	done &&
	grep "wrong/a.py:4: it ends with a full stop" out && grep "11 texts, 10 wrong" out
'
test_done
