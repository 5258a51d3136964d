#!/bin/sh
test_description='pip installs the Python module into a virtual environment, without network'
. "$(dirname "$0")/setup.sh"

PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1
export PIP_NO_INDEX PIP_DISABLE_PIP_VERSION_CHECK
"$PYTHON" -c "import ensurepip, venv" 2>/dev/null && test_set_prereq VENV
# Older ones copy a directory before they build it, which then does not know where it is
# installed; and they have no editable installation by PEP 660.
"$PYTHON" -c "
import ensurepip, sys
sys.exit(tuple(map(int, ensurepip.version().split(\".\")[:2])) < (21, 3))
" 2>/dev/null && test_set_prereq IN_PLACE

# pip_install ARG...: into the environment; the directory is not written to.
pip_install () {
	venv/bin/pip install -q --force-reinstall "$@" >pip.log 2>&1 || { cat pip.log; return 1; }
}
# without_path COMMAND...: raytrain is not on PATH, and nothing else says where it is.
without_path () {
	env -u PYTHONPATH -u RAYTRAIN_RUN PATH=/usr/bin:/bin "$@"
}

cat >fit.py <<\EOF
import sys
import raytrain
from raytrain.trainer import DataParallelTrainer

def train():
    raytrain.report({"rank": raytrain.get_context().get_world_rank()})

if __name__ == "__main__":
    print(raytrain.__file__)
    DataParallelTrainer(train, scaling_config=raytrain.ScalingConfig(num_workers=2),
                        run_config=raytrain.RunConfig(name=sys.argv[1], storage_path="runs",
                                                      verbose=0)).fit()
EOF

test_expect_success VENV 'pip installs the source of the module, and leaves that as it is' '
	"$PYTHON" -m venv venv && cp -R "$srcdir/share/python" source && chmod -R a-w source &&
	find source ! -path "*__pycache__*" | sort >before && pip_install ./source &&
	find source ! -path "*__pycache__*" | sort >after && test_cmp before after &&
	(cd / && without_path "$OLDPWD/venv/bin/python" -c "import raytrain.torch, raytrain.data") &&
	venv/bin/pip check
'
test_expect_success VENV 'what pip has installed has all files of the module, with their sums' '
	venv/bin/pip show -f raytrain >shown && grep "Version: " shown &&
	for file in "$srcdir"/share/python/raytrain/*.py "$srcdir"/share/python/raytrain/*/*.py; do
		grep -q "raytrain/${file#"$srcdir/share/python/raytrain/"}\$" shown ||
		{ echo "without $file"; return 1; }
	done
'
test_expect_success 'what pip has installed has the version of raytrain' '
	version=$(sed -n "s/^version = \"\(.*\)\"/\1/p" "$srcdir/share/python/pyproject.toml") &&
	raytrain-run --version | grep -F " $version"
'
test_expect_success VENV 'without raytrain-run, a sentence says what it is and what to install' '
	! without_path venv/bin/python fit.py none 2>err >out &&
	grep "there is no raytrain-run.*RAYTRAIN_RUN" err && grep "$PWD/venv" out
'
test_expect_success VENV 'with raytrain-run on PATH, fit() trains' '
	(unset PYTHONPATH && venv/bin/python fit.py on-path >out) && grep "$PWD/venv" out &&
	test -f runs/on-path/result.h5
'
test_expect_success VENV,IN_PLACE 'of an installation, it finds raytrain-run where that is' '
	pip_install "$stage/share/raytrain/python" && without_path venv/bin/python fit.py home &&
	test -f runs/home/result.h5
'
test_expect_success VENV,IN_PLACE 'an editable installation is the directory itself' '
	chmod -R u+w source && pip_install -e ./source &&
	without_path venv/bin/python -c "import raytrain; print(raytrain.__file__)" >out &&
	grep "^$PWD/source/" out
'
test_expect_success VENV 'pip uninstalls it' '
	venv/bin/pip uninstall -q -y raytrain && ! without_path venv/bin/python -c "import raytrain" 2>err &&
	grep ModuleNotFoundError err && rm -rf venv source
'
test_done
