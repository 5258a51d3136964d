#!/bin/sh
test_description='--help, README.md and raytrain-run(1) have the same options'
. "$(dirname "$0")/setup.sh"

options () {
	grep -oE -e '--[a-z][a-z-]*' | sort -u
}

test_expect_success '--help lists options' '
	raytrain-run --help >help && grep -E "^ +(-[a-z], )?--" help | options >expected &&
	test "$(wc -l <expected)" -gt 20
'
test_expect_success 'the table of README.md has the options of --help' '
	sed -n "/^| option/,/^\$/p" "$srcdir/README.md" | grep -oE "^\|[^|]*\|" |
	options >actual && test_cmp expected actual
'
test_expect_success 'the paragraphs of raytrain-run(1) have the options of --help' '
	sed -n "/^\.SH OPTIONS/,/^\.SH SIGNALS/p" "$srcdir/share/man/raytrain-run.1" |
	sed "s/\\\\-/-/g" | grep -A 1 "^\.TP" | options >actual &&
	test_cmp expected actual
'
test_expect_success 'the paragraphs of raytrain-predict(1) have the options of its --help' '
	raytrain-predict --help >help && grep -E "^ +(-[a-z], )?--" help | options >expected &&
	sed -n "/^\.SH OPTIONS/,/^\.SH EXIT/p" "$srcdir/share/man/raytrain-predict.1" |
	sed "s/\\\\-/-/g" | grep -A 1 "^\.TP" | options >actual &&
	test_cmp expected actual
'
# zsh_words WORD...: what the completion of zsh offers for the last word, and for a file "files".
zsh_words () {
	zsh -fc '
		fpath=("$1" $fpath)
		autoload -U compinit && compinit -u -d ./zcompdump
		shift
		test "$_comps[$1]" = _raytrain || exit
		compadd () { [[ $1 == -- ]] && shift; print -rl -- "$@" }
		_files () { print files }
		_message () { }
		compset () { PREFIX=${PREFIX#*=} }
		words=("$@") CURRENT=$# PREFIX=$@[-1]
		_raytrain
	' complete "$stage/share/zsh/site-functions" "$@"
}
# bash_words WORD...: the same for bash.
bash_words () {
	bash -c '
		. "$1"
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_raytrain_run "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"
	' complete "$stage/share/bash-completion/completions/raytrain-run" "$@"
}
# offers SHELL: its completion offers exactly the options of --help, for each command.
offers () {
	for command in raytrain-run raytrain-predict raytrain-inspect; do
		$command --help >help && grep -E "^ +(-[a-z], )?--" help |
		sed "s/^\( *\(-[a-z], \)\?--[a-z-]*\).*/\1/" | options >expected &&
		"$1_words" $command -- | sort -u >actual && test_cmp expected actual || return 1
	done
}
test_expect_success 'the completion of bash offers the options of --help' '
	offers bash
'
command -v zsh >/dev/null && test_set_prereq ZSH
test_expect_success ZSH 'the completion of zsh offers the options of --help, values and files' '
	offers zsh &&
	test "$(zsh_words raytrain-run --launcher "" | tr "\n" " ")" = "auto slurm local " &&
	test "$(zsh_words raytrain-run --trainer=x | tr "\n" " ")" = \
		"data_parallel xgboost lightgbm " &&
	test "$(zsh_words raytrain-run --config "")" = files &&
	test "$(zsh_words raytrain-run --config=a)" = files &&
	test -z "$(zsh_words raytrain-run --time "")" &&
	zsh_words raytrain-report -- | grep -qxe --should-stop
'
# A new option with a value that is no file has to be in both.
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
