# local.sh - sourced by soak: a run on this machine, and its victims.

# shellcheck disable=SC2034 # soak uses them
moments='30 time
70 reports'
victims='55 a-rank
8 all-ranks
22 raytrain-run
3 the-keeper
6 the-pmix-server
6 raytrain-run-and-its-keeper'

run_start()
{
    "$bin/raytrain-run" --launcher local --storage runs --name "$run" --resume \
        -n "$workers" --max-failures -1 --progress plain \
        --set train_loop_config.iterations="$iterations" "${more[@]}" "$train" \
        >>"$run.err" 2>&1 </dev/null &
    pid=$! status=
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
    case $status in
    0) ;;
    137) return 1 ;;
    *) wrong "raytrain-run ended with status $status" ;;
    esac
}

run_abandon()
{
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
}

# children NAME: store the children of raytrain-run with this name in $found.
children()
{
    local child comm
    found=()
    for child in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do
        read -r comm 2>/dev/null <"/proc/$child/comm" || continue
        [ "$comm" != "$1" ] || found+=("$child")
    done
}

victim_kill()
{
    local found=()
    case $1 in
    a-rank)
        children raytrain-worker
        [ ${#found[@]} -gt 0 ] && kill_counted "$1" "${found[RANDOM % ${#found[@]}]}"
        ;;
    all-ranks)
        children raytrain-worker
        kill_counted "$1" "${found[@]}"
        ;;
    the-keeper)
        children raytrain-keeper
        kill_counted "$1" "${found[@]}"
        ;;
    the-pmix-server)
        children raytrain-pmix
        kill_counted "$1" "${found[@]}"
        ;;
    raytrain-run) kill_counted "$1" "$pid" && launcher_gone ;;
    raytrain-run-and-its-keeper)
        children raytrain-keeper
        kill_counted "$1" "$pid" "${found[@]}" && launcher_gone
        ;;
    esac
}

# No process may outlive raytrain-run for long.
launcher_gone()
{
    run_wait
    within 10 no_process_left || wrong "processes are left: $left"
}

no_process_left()
{
    left=$(SOAK_WORK= grep -lz "^SOAK_WORK=$work$" /proc/[0-9]*/environ 2>/dev/null |
        while IFS=/ read -r _ _ id _; do
            [ "$id" = $$ ] || ! [ -s "/proc/$id/cmdline" ] ||
                echo "$id $(tr '\0' ' ' 2>/dev/null <"/proc/$id/cmdline")"
        done)
    [ -z "$left" ]
}

nothing_left()
{
    no_process_left || return
    left=$(find "$TMPDIR" -mindepth 1 -maxdepth 1; find "runs/$run" -name '.*.tmp-*'
        [ -z "${SOAK_ALONE:-}" ] || ls /dev/shm)
    [ -z "$left" ]
}
