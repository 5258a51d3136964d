# batch.sh - sourced by soak: a run as a batch job of a test cluster. Its script is submitted
# again unchanged after raytrain-run was killed or its node was lost.

# shellcheck source=slurm.sh
. "$here/slurm.sh"

# shellcheck disable=SC2034 # soak uses them
victims='2 a-rank
1 raytrain-run
1 a-node-cut-off
1 a-node-powered-off
3 the-batch-node'
said=$PWD/batch.status job=

run_start()
{
    nodes_mend
    nodes_cache
    rm -f "$said"
    cat >"$run.sh" <<EOF
#!/bin/bash
#SBATCH --nodes=3 --ntasks-per-node=2 --cpus-per-task=2 --no-requeue
#SBATCH --open-mode=append --output=$run.err
$bin/raytrain-run --storage runs --name $run --resume ${shape[@]@Q} \
    --max-failures -1 --progress plain \
    --set train_loop_config.iterations=$iterations ${more[@]@Q} $train
echo \$? >$said.new && mv $said.new $said
EOF
    job=$(sbatch --parsable "$run.sh") || wrong "sbatch has failed"
    pid= status= disturbed=
}

run_lives()
{
    [ -n "$job" ] && [ ! -e "$said" ]
}

# 137: the batch node is gone, so there is no exit status.
run_wait()
{
    status=137
    while run_lives; do nap 20; done
    [ ! -e "$said" ] || read -r status <"$said"
    job=
}

# raytrain-run is a child of the batch script.
the_launcher()
{
    of_name slurm_script
    [ ${#found[@]} -eq 0 ] || of_parent raytrain-run "${found[0]}"
}

# Slurm would detect the loss after SlurmdTimeout; here an administrator reports it earlier.
# Then the job has failed.
batch_node_lose()
{
    local found=() node
    the_launcher
    node=$(node_of "${found[0]:-}")
    [ -n "$node" ] || return
    "$cluster" poweroff "$node" || wrong "poweroff $node"
    victim_count "$1"
    scontrol update nodename="$node" state=down reason=soak
    job=
    "$cluster" revive "$node" || wrong "revive $node"
    launcher_gone
}
