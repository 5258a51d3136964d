# slurm.sh - sourced by soak: a run on a test cluster, started on its login node, and whom
# to kill of it. Every process of every node is seen from there.
#
# A node that Slurm has drained because it could not end a step there (a task that dies
# while it connects to OpenPMIx 4.2 can leave slurmstepd hanging) is brought back, and
# counted: the run itself has to cope.

# shellcheck disable=SC2034 # soak uses them
moments='20 time
80 reports'
victims='50 a-rank
10 all-ranks
20 raytrain-run
10 srun
10 salloc'
cluster=$here/../cluster/cluster
drained=0

run_start()
{
    local tries
    nodes_mend
    "$bin/raytrain-run" --launcher slurm --storage runs --name "$run" --resume \
        -n "$workers" --placement SPREAD --max-failures -1 --progress plain \
        --set train_loop_config.iterations="$iterations" "${more[@]}" "$train" \
        >>"$run.err" 2>&1 </dev/null &
    pid=$! status= disturbed=
}

run_lives()
{
    kill -0 "$pid" 2>/dev/null
}

run_wait()
{
    wait "$pid" 2>/dev/null
    status=$?
}

# It has ended, as it should; 1: it was killed; anything else is wrong. salloc ends with 0
# also where what it runs was killed: so the Result decides.
run_is_over()
{
    [ -n "$status" ] || run_wait
    [ "$status" != 0 ] || [ ! -e "runs/$run/result.h5" ] || return 0
    [ -n "$disturbed" ] || wrong "raytrain-run ended with status $status"
    return 1
}

run_abandon()
{
    squeue; sinfo -N -o '%N %t %E'; "$cluster" ps
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
} >&2

# of_parent NAME PID: its children that are called so, into $found.
of_parent()
{
    local child comm
    found=()
    for child in $(cat "/proc/$2/task/$2/children" 2>/dev/null); do
        read -r comm 2>/dev/null <"/proc/$child/comm" || continue
        [ "$comm" != "$1" ] || found+=("$child")
    done
}

ranks()
{
    local file comm
    found=()
    for file in /proc/[0-9]*/comm; do
        read -r comm 2>/dev/null <"$file" || continue
        [ "$comm" != raytrain-worker ] || { file=${file#/proc/}; found+=("${file%/comm}"); }
    done
}

victim_kill()
{
    local found=()
    case $1 in
    a-rank)
        ranks
        [ ${#found[@]} -gt 0 ] && kill_counted "$1" "${found[RANDOM % ${#found[@]}]}"
        ;;
    all-ranks)
        ranks
        kill_counted "$1" "${found[@]}"
        ;;
    srun)
        of_parent raytrain-run "$pid"
        [ ${#found[@]} -gt 0 ] && of_parent srun "${found[0]}" &&
            kill_counted "$1" "${found[@]}"
        ;;
    raytrain-run)
        of_parent raytrain-run "$pid"
        kill_counted "$1" "${found[@]}" && launcher_gone
        ;;
    salloc) kill_counted "$1" "$pid" && launcher_gone ;;
    esac
    nodes_mend
}

# Nobody is to outlive raytrain-run for long.
launcher_gone()
{
    disturbed=yes
    run_wait
    within 60 no_process_left || wrong "left: $left"
}

nodes_mend()
{
    local node state
    while read -r node state; do
        case $state in
        drain* | drng* | down*)
            scontrol update nodename="$node" state=resume
            echo "soak: $node was $state"
            drained=$((drained + 1))
            ;;
        esac
    done < <(sinfo -h -N -o '%N %t')
}

no_process_left()
{
    nodes_mend
    left=$(squeue -h -o 'job %i %T %N'; "$cluster" ps)
    [ -z "$left" ]
}

nothing_left()
{
    local node
    no_process_left || return
    left=$(find "runs/$run" -name '.*.tmp-*'
        for node in $(sinfo -h -N -o %N); do
            "$cluster" on "$node" find /dev/shm /tmp -mindepth 1 -maxdepth 1 \( -name 'mpich*' -o -name 'ucx*' -o -name 'raytrain*' \)
        done)
    [ -z "$left" ]
}
