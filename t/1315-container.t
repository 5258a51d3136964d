#!/bin/sh
test_description='commands in containers: their place and their session reach the inside

CONTAINER_IMAGE may be the root of another system, which has python3; otherwise one is made of what
python3 needs of this system, without raytrain. The programs that enter it are stand-ins
(t/container), since the real ones are not in Debian.'
. "$(dirname "$0")/setup.sh"

if [ "$(id -u)" -ne 0 ] || ! unshare --mount true 2>/dev/null; then
	skip_all='needs root and mount namespaces'
	test_done
fi
case $LD_PRELOAD$(nm -D "$stage/lib/libraytrain.so" | grep __asan_init) in
?*)
	skip_all='the module alone is in the image'
	test_done
	;;
esac

PATH=$srcdir/t/container:$PATH
run="raytrain-run --launcher local --storage runs -n 2"

# make_image: python3, its library and the libraries that it needs.
make_image () {
	version=$("$PYTHON" -c "import sys; print(\"python%d.%d\" % sys.version_info[:2])") &&
	mkdir -p image/usr/bin image/usr/lib image/etc image/tmp &&
	cp "/usr/bin/$version" image/usr/bin/python3 && cp /usr/bin/env /bin/sh image/usr/bin &&
	cp -R "/usr/lib/$version" image/usr/lib &&
	ldd image/usr/bin/* "/usr/lib/$version"/lib-dynload/*.so | grep -o "/[^ ]*" | grep -v : |
	sort -u | while read -r library; do
		mkdir -p "image/usr${library%/*}" && cp -L "$library" "image/usr$library" || return 1
	done &&
	for link in bin lib lib64; do
		test ! -d "image/usr/$link" || ln -s "usr/$link" "image/$link" || return 1
	done
}

sed "s|STAGE|$stage|" >inside.py <<\EOF
import os, sys, tempfile
import raytrain
from raytrain import Checkpoint

assert not os.path.exists("STAGE/bin"), "this is not the image"
assert int(os.environ["WORLD_SIZE"]) == 2
rank = raytrain.get_context().get_world_rank()
assert rank == int(os.environ["RANK"])
start = 0
before = raytrain.get_checkpoint()
if before:
    with before.as_directory() as directory:
        start = int(open(os.path.join(directory, "n%d" % rank)).read())
for i in range(start, 3):
    with tempfile.TemporaryDirectory() as directory:
        open(os.path.join(directory, "n%d" % rank), "w").write(str(i + 1))
        raytrain.report({"i": i + 1, "rank": rank}, checkpoint=Checkpoint.from_directory(directory))
    if before is None and i == 1:
        sys.exit(1)
EOF
if [ -n "${CONTAINER_IMAGE:-}" ]; then
	image=$CONTAINER_IMAGE
else
	make_image >/dev/null && image=$PWD/image || exit 1
fi
# trains NAME COMMAND...: both attempts of the script, with a checkpoint between them.
trains () {
	name=$1 && shift &&
	$run --name "$name" --max-failures 1 -q -- "$@" python3 "$PWD/inside.py" 2>err ||
		{ cat err; cat runs/"$name"/logs/attempt-*/*.err; return 1; }
	jq -se "map(.i) == [1, 2, 3] and .[0].by_rank.rank.mean == 0.5" "runs/$name/result.json"
}

test_expect_success 'the image is another root, without raytrain' '
	apptainer exec "$image" python3 -c "import os; assert os.getcwd() == \"$PWD\"" &&
	! env -u PYTHONPATH apptainer exec "$image" python3 -c "import raytrain"
'
test_expect_success 'a script in a container of apptainer trains and resumes' '
	trains plain apptainer exec "$image"
'
test_expect_success 'with --cleanenv it finds its place and its session, too' '
	trains clean apptainer exec --cleanenv "$image"
'
test_expect_success 'with --containall it has a /tmp and processes of its own, and its files arrive' '
	trains contained apptainer exec --containall --bind "$PWD" "$image"
'
test_expect_success 'variables of the user for the container stay, and the place is that of the run' '
	APPTAINERENV_MINE=yes APPTAINERENV_RANK=7 $run --name mine -- apptainer exec --cleanenv "$image" \
		sh -c "test \$MINE = yes && test \$RANK != 7" 2>err &&
	grep "sets APPTAINERENV_RANK to \"7\"" err
'
test_expect_success 'the devices of a worker are those of its container' '
	CUDA_VISIBLE_DEVICES=1 $run --name devices -- apptainer exec --cleanenv "$image" \
		sh -c "test \$CUDA_VISIBLE_DEVICES = 1"
'
test_expect_success 'a container of apptainer that cannot see its session fails with what to bind' '
	expect_status 1 $run --name unbound -- sh -c "unset APPTAINER_BIND; exec apptainer exec \
		--containall --bind \"$PWD\" \"$image\" python3 \"$PWD/inside.py\"" 2>err &&
	expect_status 1 env -u APPTAINER_BIND $run --name elsewhere -- apptainer exec --containall "$image" \
		python3 /nowhere.py 2>err && grep "container has not connected.*--bind /" err
'
test_expect_success 'a script in a container of enroot trains with --conf' '
	mkdir "with blank" && (cd "with blank" && cp ../inside.py . &&
	trains enroot enroot start --conf "$stage/share/raytrain/enroot.conf" "$image")
'
test_expect_success 'without --conf, a sentence names it' '
	expect_status 1 $run --name bare -- enroot start "$image" python3 "$PWD/inside.py" 2>err &&
	grep -e "enroot start --conf $stage/share/raytrain/enroot.conf" err &&
	$run --name unused -- enroot start "$image" python3 -c pass 2>err &&
	grep -e "enroot start --conf" err
'
test_expect_success 'of other programs, it says which variables and directories they need' '
	mkdir other && printf "#!/bin/sh\nexit 3\n" >other/podman && chmod +x other/podman &&
	expect_status 1 $run --name other -- "$PWD/other/podman" run img python3 train.py 2>err &&
	grep "variables.*RANK.*RAYTRAIN_SESSION.*directories /.*$stage/share/raytrain/python" err
'
test_expect_success 'nothing of the containers is left' '
	test -z "$(pgrep -f "$PWD/inside.py")" && ! grep "1315-container" /proc/mounts
'
test_done
