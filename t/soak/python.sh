# python.sh - sourced by soak: a run of a Python script on this machine. The companions, the
# scripts and the processes of their DataLoaders are victims, too. TRAIN_FUNC.so is a script
# that takes the number of its iterations: t/soak/train.py.

# shellcheck source=local.sh
. "$here/local.sh"

# shellcheck disable=SC2034 # soak uses them
victims='4 a-rank
5 a-script
4 a-loader
1 all-scripts
1 all-ranks
3 raytrain-run
1 the-keeper
1 the-pmix-server
1 raytrain-run-and-its-keeper'
python=${PYTHON:-python3}
export OMP_NUM_THREADS=1

run_start()
{
    "$bin/raytrain-run" --launcher local --storage runs --name "$run" --resume \
        -n "$workers" --max-failures -1 --progress plain --backend torch "${more[@]}" \
        -- "$python" "$train" "$iterations" >>"$run.err" 2>&1 </dev/null &
    pid=$! status=
}

# The bits of all that the script keeps: those of the reference, or others.
model_of()
{
    "$bin/raytrain-inspect" --diff "runs/measure/checkpoint_$last.h5" "$1" >&2 &&
        echo "that of the reference"
}

# children_of PID...: store their children in $found.
children_of()
{
    local parent task
    found=()
    for parent; do
        for task in "/proc/$parent/task/"*; do
            mapfile -t -O ${#found[@]} -d ' ' found < <(cat "$task/children" 2>/dev/null)
        done
    done
}

kill_one() # WORD, of $found
{
    [ ${#found[@]} -gt 0 ] && kill_counted "$1" "${found[RANDOM % ${#found[@]}]}"
}

eval "$(declare -f victim_kill | sed '1s/victim_kill/victim_kill_local/')"
victim_kill()
{
    local found=()
    case $1 in
    a-script | a-loader | all-scripts)
        children raytrain-worker
        children_of "${found[@]}"
        [ "$1" != a-loader ] || children_of "${found[@]}"
        if [ "$1" = all-scripts ]; then
            kill_counted "$1" "${found[@]}"
        else
            kill_one "$1"
        fi
        ;;
    *) victim_kill_local "$1" ;;
    esac
}

# Files of Python's own modules tempfile and multiprocessing, and of torch, are not ours: they
# remain if a process is killed between creating and unlinking them.
nothing_left()
{
    no_process_left || return
    left=$(find "$TMPDIR" -mindepth 1 -maxdepth 1 ! -name 'pymp-*' ! -name '????????' ! -name 'tmp????????'
        find "runs/$run" -name '.*.tmp-*'
        [ -z "${SOAK_ALONE:-}" ] || find /dev/shm -mindepth 1 ! -name 'torch_*' ! -name 'sem.*')
    [ -z "$left" ]
}
