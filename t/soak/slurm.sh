# slurm.sh - sourced by soak: a run on a test cluster, started on its login node, and its
# victims. The login node sees every process of every node.
#
# The run has three nodes: two for its workers, so that each always has the same number, and
# a spare one. A node that is cut off or powered off is brought back as soon as the run has
# detected its loss; if the run has too few nodes left it stops (75), and is resumed.
#
# If Slurm drains a node because it could not end a step there (a task that dies while it
# connects to OpenPMIx 4.2 can leave slurmstepd hanging), the node is brought back and counted:
# the run itself must cope. So must it if a group is restarted because its workers could not
# connect, which happens occasionally with Slurm's PMIx.

# shellcheck disable=SC2034 # soak uses them
moments='20 time
80 reports'
victims='5 a-rank
1 all-ranks
1 a-task
2 raytrain-run
1 srun
1 srun-keeper
1 salloc
1 the-command
2 a-node-cut-off
3 a-node-powered-off'
cluster=$here/../cluster/cluster
drained=0 disturbed=
shape=(-n "$workers" --cpus-per-worker 2 --set scaling_config.spare_nodes=1
    --set run_config.failure_config.node_timeout_s=2
    --set run_config.failure_config.start_timeout_s=10)

# Give each node a cache over the runs if it has none.
nodes_cache()
{
    local node
    [ "$storage" = cached ] || return 0
    mkdir -p runs
    for node in $(sinfo -h -N -o %N); do
        "$cluster" on "$node" mountpoint -q "$PWD/runs" ||
            "$cluster" cache "$node" "$PWD/runs" || wrong "$node gets no cache"
    done
}

run_start()
{
    nodes_mend
    nodes_cache
    "$bin/raytrain-run" --launcher slurm --storage runs --name "$run" --resume \
        "${shape[@]}" --max-failures -1 --progress plain \
        --set train_loop_config.iterations="$iterations" "${more[@]}" "$train" \
        >>"$run.err" 2>&1 </dev/null &
    pid=$! status= disturbed=
}

run_lives()
{
    process_lives "$pid"
}

run_wait()
{
    wait "$pid" 2>/dev/null
    status=$?
}

# The run has ended normally; 1: it was killed; anything else is an error.
run_is_over()
{
    [ -n "$status" ] || run_wait
    [ "$status" != 0 ] || ! run_is_finished || return 0
    case $disturbed:$status in
    killed:* | node:75) return 1 ;;
    *) wrong "raytrain-run ended with status $status" ;;
    esac
}

run_is_finished()
{
    [ "$("$bin/raytrain-inspect" --json "runs/$run" | jq -r .status)" = finished ]
}

run_abandon()
{
    squeue; sinfo -N -o '%N %t %E'; "$cluster" ps
    scancel --quiet --user "$(id -un)"
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
} >&2

# of_parent NAME PID: store the children of PID with this name in $found.
of_parent()
{
    local child comm
    found=()
    for child in $(cat "/proc/$2/task/$2/children" 2>/dev/null); do
        read -r comm 2>/dev/null <"/proc/$child/comm" || continue
        [ "$comm" != "$1" ] || found+=("$child")
    done
}

# of_name NAME: store all processes with this name in $found.
of_name()
{
    local file comm
    found=()
    for file in /proc/[0-9]*/comm; do
        read -r comm 2>/dev/null <"$file" || continue
        [ "$comm" != "$1" ] || { file=${file#/proc/}; found+=("${file%/comm}"); }
    done
}

# Store the raytrain-run that starts the workers in $found. It is started by salloc, which the
# outer raytrain-run started.
the_launcher()
{
    of_parent salloc "$pid"
    [ ${#found[@]} -eq 0 ] || of_parent raytrain-run "${found[0]}"
}

victim_kill()
{
    local found=()
    case $1 in
    a-rank)
        of_name raytrain-worker
        [ ${#found[@]} -gt 0 ] && kill_counted "$1" "${found[RANDOM % ${#found[@]}]}"
        ;;
    a-task) # with --restart same_step
        of_name raytrain-task
        [ ${#found[@]} -gt 0 ] && kill_counted "$1" "${found[RANDOM % ${#found[@]}]}"
        ;;
    all-ranks)
        of_name raytrain-worker
        kill_counted "$1" "${found[@]}"
        ;;
    srun | srun-keeper)
        the_launcher
        [ ${#found[@]} -gt 0 ] && of_parent raytrain-keeper "${found[0]}"
        [ "$1" != srun ] || [ ${#found[@]} -eq 0 ] || of_parent srun "${found[0]}"
        kill_counted "$1" "${found[@]}"
        ;;
    raytrain-run)
        the_launcher
        kill_counted "$1" "${found[@]}" && launcher_gone
        ;;
    salloc)
        of_parent salloc "$pid"
        kill_counted "$1" "${found[@]}" && launcher_gone
        ;;
    the-command) kill_counted "$1" "$pid" && launcher_gone ;;
    a-node-cut-off) node_lose "$1" cut mend ;;
    a-node-powered-off) node_lose "$1" poweroff revive ;;
    the-batch-node) batch_node_lose "$1" ;;
    esac
    nodes_mend
}

# No process may outlive raytrain-run for long.
launcher_gone()
{
    disturbed=killed
    run_wait
    within 60 no_process_left || wrong "left: $left"
}

# ---- Nodes ---------------------------------------------------------------------------

# Store a node with a worker, but without raytrain-run, in $node.
node_choose()
{
    local found=() worker
    the_launcher
    launcher_node=$(node_of "${found[0]:-}")
    of_name raytrain-worker
    [ ${#found[@]} -gt 0 ] || return 1
    worker=${found[RANDOM % ${#found[@]}]}
    node=$(node_of "$worker")
    [ -n "$node" ] && [ "$node" != "$launcher_node" ]
}

node_of()
{
    [ -z "$1" ] || nsenter -t "$1" -u hostname 2>/dev/null
}

losses()
{
    grep -c "lost node $node" "$run.err" 2>/dev/null
}

# The run has detected the loss of the node, or it is over.
node_is_missed()
{
    [ "$(losses)" -gt "$lost" ] || ! run_lives
}

# node_lose WORD HOW BACK: lose a node until the run has detected it.
node_lose()
{
    local node lost launcher_node
    node_choose || return
    lost=$(losses)
    "$cluster" "$2" "$node" || wrong "$2 $node"
    victim_count "$1"
    disturbed=node
    within 60 node_is_missed || wrong "the loss of $node is not detected"
    "$cluster" "$3" "$node" || wrong "$3 $node"
    nodes_cache
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
            "$cluster" on "$node" find /dev/shm /tmp -mindepth 1 -maxdepth 1 \( -name 'mpich*' -o -name 'ucx*' -o -name 'vader*' -o -name 'raytrain*' \)
        done)
    [ -z "$left" ]
}
