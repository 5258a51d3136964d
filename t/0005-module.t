#!/bin/bash

test_description='The module file for Lmod that make install installs'

SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

lmod=/usr/share/lmod/lmod/init/bash
if ! [ -r "$lmod" ]
then
	skip_all='Lmod (lmod) is not installed'
	test_done
fi
file=$(echo "$stage"/share/raytrain/modulefiles/raytrain/*.lua)
version=$(basename "$file" .lua)
# The stage is installed for /usr/local, below another root.
mkdir -p modules/raytrain
sed "s|\"/usr/local|\"$stage|" "$file" >"modules/raytrain/$version.lua"
# with_module COMMAND: run it after "module load raytrain".
with_module () {
	env -u MODULEPATH PATH=/usr/bin:/bin bash -c '
		. "$1" && module use "$2" && module load raytrain && eval "$3"
	' - "$lmod" "$PWD/modules" "$1"
}

test_expect_success 'module load makes programs, manuals, compiler flags and the Python module available' '
	with_module "raytrain-run --version" >out && grep "$version" out &&
	with_module "pkg-config --exists raytrain" &&
	with_module "python3 -c \"import raytrain\"" &&
	with_module "man -w raytrain-run" >out && grep "$stage" out
'

test_expect_success 'no placeholder is left in the module file' '
	test_must_fail grep "@" "$file"
'

test_expect_success 'module unload removes all that module load has set' '
	with_module "module unload raytrain; env" >out &&
	test_must_fail grep "^[A-Z]*PATH=.*$stage" out
'

test_done
