#!/bin/sh
test_description='--help fits a screen, and the man pages have the same options'
. "$(dirname "$0")/setup.sh"

options () {
	grep -oE -e '--[a-z][a-z-]*' | sort -u
}
# helped FILE: the options that the text of --help in this file explains.
helped () {
	grep -E "^ +(-[a-zA-Z], )?--" "$1" | sed -E "s/^( +(-[a-zA-Z], )?--[a-z-]+).*/\1/" | options
}
# paragraphs PAGE: the options that have a paragraph in section OPTIONS of a man page.
paragraphs () {
	sed -n "/^\.SH OPTIONS/,/^\.SH [^O]/p" "$srcdir/share/man/$1" |
	sed "s/\\\\-/-/g" | grep -A 1 "^\.TP" | options
}
# everything PROGRAM: its help with all options.
everything () {
	case $1 in
	raytrain-run | raytrain-predict | raytrain-serve) "$1" --help=all ;;
	*) "$1" --help ;;
	esac
}

for program in raytrain-run raytrain-predict raytrain-serve raytrain-inspect raytrain-report; do
	test_expect_success "--help of $program fits a screen of 80 x 40" "
		$program --help >help && test -s help &&
		test \"\$(wc -l <help)\" -le 40 && ! grep -E '.{81}' help
	"
	test_expect_success "the paragraphs of $program(1) are the options that it explains" "
		everything $program >help && helped help >expected && test -s expected &&
		paragraphs $program.1 >actual && test_cmp expected actual
	"
done
test_expect_success '--help=all has more options than --help, which refers to it' '
	for program in raytrain-run raytrain-predict raytrain-serve; do
		$program --help >help && $program --help=all >all &&
		helped help >usual && helped all >every &&
		test "$(wc -l <usual)" -gt 15 && test "$(wc -l <every)" -gt "$(wc -l <usual)" &&
		test -z "$(comm -23 usual every)" &&
		grep -q -e --help=all help && ! grep -E ".{81}" all || return 1
	done
'
test_expect_success 'an unknown option is refused with a reference to --help=all' '
	expect_status 2 raytrain-run --hepl 2>err && grep -e --help=all err
'
# zsh_words WORD...: what the completion of zsh offers for the last word, and for a file "files".
zsh_words () {
	zsh -fc '
		fpath=("$1" $fpath)
		autoload -U compinit && compinit -u -d ./zcompdump
		shift
		test "$_comps[$1]" = _raytrain || exit
		compadd () { [[ $1 == -S ]] && shift 2; [[ $1 == -- ]] && shift; print -rl -- "$@" }
		_files () { print files }
		_message () { }
		compset () { PREFIX=${PREFIX#*=} }
		words=("$@") CURRENT=$# PREFIX=$@[-1]
		_raytrain
	' complete "$stage/share/zsh/site-functions" "$@"
}
# bash_words WORD...: the same for bash, by the function that the command's file registers.
bash_words () {
	bash -c '
		. "$1/$2"
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		function=$(complete -p "$1" | sed "s/.* -F \([^ ]*\) .*/\1/")
		"$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"
	' complete "$stage/share/bash-completion/completions" "$@"
}
# offers SHELL: its completion offers exactly the options of --help, for each command.
offers () {
	for command in raytrain-run raytrain-predict raytrain-serve raytrain-inspect raytrain-report; do
		everything $command >help && helped help >expected &&
		"$1_words" $command -- | sort -u >actual && test_cmp expected actual || return 1
	done
}
# words_of STATUS OPTION: those that raytrain-run knows, according to its message about another one.
words_of () {
	expect_status "$1" raytrain-run "$2" no-such-word -- true 2>err &&
	sed -n "s/.*: expected one of \(.*\), found .*/\1/p" err | tr -d " " | tr "," "\n" | sort
}
# offers_exactly SHELL PROGRAM OPTION: its completion offers exactly the words in the file expected.
offers_exactly () {
	test -s expected && "$1_words" $2 $3 "" | sort >actual && test_cmp expected actual
}
# offers_words SHELL: its completion offers exactly the words of the options that have some.
offers_words () {
	while read -r status option; do
		words_of $status $option >expected &&
		offers_exactly "$1" raytrain-run $option || return 1
	done <<-\EOF
	2 --launcher
	2 --progress
	3 --placement
	3 --device-collectives
	3 --restart
	3 --backend
	3 --trainer
	EOF
}
# offers_more SHELL: the same for options whose values are not only words, or are checked later.
offers_more () {
	expect_status 3 raytrain-run --callback no-such-word -- true 2>err &&
	for name in $(sed -n "s/.*(callbacks: \(.*\), a group.*/\1/p" err | tr -d ,); do
		! raytrain-run --dry-run --callback $name -- true >/dev/null 2>&1 || echo $name
	done | sort >expected &&
	offers_exactly "$1" raytrain-run --callback &&
	expect_status 3 raytrain-run --show no-such-word -- true 2>err &&
	sed -n "s/.*: expected \(.*\), or ranks such as .*/\1/p" err | tr -d " " | tr "," "\n" |
	sort >expected &&
	offers_exactly "$1" raytrain-run --show &&
	expect_status 3 raytrain-predict --set "predict.outputs=[\"no-such-word\"]" --checkpoint none \
		--data none -o p.h5 2>err &&
	sed -n "s/.*: expected one of \(.*\), found .*/\1/p" err | tr -d " " | tr "," "\n" |
	sort >expected &&
	offers_exactly "$1" raytrain-predict --outputs && offers_exactly "$1" raytrain-serve --outputs &&
	expect_status 2 raytrain-inspect --x no-such-word none 2>err &&
	sed -n "s/.*--x is \(.*\) or \(.*\)/\1 \2/p" err | tr " " "\n" | sort >expected &&
	offers_exactly "$1" raytrain-inspect --x
}
test_expect_success 'the completion of bash offers the options of --help, and their words' '
	offers bash && offers_words bash && offers_more bash &&
	bash_words raytrain-predict --data-format "" | grep -x libsvm
'
command -v zsh >/dev/null && test_set_prereq ZSH
test_expect_success ZSH 'the completion of zsh offers the options of --help, their words, and files' '
	offers zsh && offers_words zsh && offers_more zsh &&
	test "$(zsh_words raytrain-run --trainer=x | tr "\n" " ")" = \
		"data_parallel xgboost lightgbm " &&
	zsh_words raytrain-predict --data-format "" | grep -x libsvm &&
	test "$(zsh_words raytrain-run --config "")" = files &&
	test "$(zsh_words raytrain-run --config=a)" = files &&
	test -z "$(zsh_words raytrain-run --time "")"
'
# offers_keys SHELL: its completion offers keys for --set, with "=", and not the rest of the help.
offers_keys () {
	"$1_words" raytrain-run --set "" >keys &&
	grep -x "run_config.checkpoint_config.num_to_keep=" keys && grep -x "num_boost_round=" keys &&
	! grep -v "^[a-z][a-z_0-9.]*=\$" keys
}
test_expect_success 'the completion of bash offers the keys for --set' '
	offers_keys bash && bash_words raytrain-run --set run_config.ch >some &&
	grep -x "run_config.checkpoint_config.num_to_keep=" some && ! grep scaling some
'
test_expect_success ZSH 'the completion of zsh offers the keys for --set' '
	offers_keys zsh
'
test_expect_success '--help=all lists the keys of raytrain.cfg(5)' '
	raytrain-run --help=all | sed -n "/^Keys for --set/,\$s/^  \([a-z][^ ]*\).*/\1/p" >keys &&
	test "$(wc -l <keys)" -gt 60 && sed "s/.*[.]//" keys | sort -u >names &&
	for name in $(cat names); do
		sed "s/\\\\-/-/g" "$srcdir/share/man/raytrain.cfg.5" | grep -qw -e "$name" ||
		{ echo "raytrain.cfg(5) lacks $name"; return 1; }
	done
'
# A new option with a value that is not a file has to be in both.
test_expect_success 'the completions of bash and of zsh know the same values and options' '
	for shell in raytrain-run _raytrain; do
		sed -n "/^	case/,/esac/p" "$srcdir/share/completion/$shell" | options |
		grep -vxE -e "--(prologue|get-checkpoint|text|help)" >$shell.known || return 1
	done &&
	test "$(wc -l <_raytrain.known)" -gt 20 && test_cmp raytrain-run.known _raytrain.known
'
test_expect_success 'README.md refers to raytrain.cfg(5)' '
	grep -q "raytrain.cfg(5)" "$srcdir/README.md"
'
test_done
