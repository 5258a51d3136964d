# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# raytrain_allreduce() against the blocking MPI_Allreduce in the same workers on this machine.
# With more workers than cores, a busy wait takes time from the workers that it waits for.
turns=5
names=([1024]=1KiB [16384]=16KiB [65536]=64KiB [1048576]=1MiB [16777216]=16MiB
    [67108864]=64MiB)

sizes()
{
    case $1 in
    2) echo "${!names[@]}" ;;
    *) echo 1024 65536 1048576 ;;
    esac
}

rows()
{
    local n size
    for n in 2 4 8; do
        for size in $(sizes $n); do
            echo "allreduce-$n-${names[size]} us $([ $n = 2 ] && echo '<=1.05' || echo '<=0.1')"
        done
    done
}

prepare()
{
    compile "$work/allreduce.so" -shared -fPIC "$top/scripts/bench.d/allreduce.c" \
        $(pkg-config --cflags mpich)
}

sample()
{
    local n size ours theirs
    for n in 2 4 8; do
        [[ " ${chosen[*]}" == *" allreduce-$n-"* ]] || continue
        "$bin/raytrain-run" --launcher local --workers $n --progress none \
            --storage "$work" --name run "$work/allreduce.so" $(sizes $n) >&2 || return
        while read -r size ours theirs; do
            echo "allreduce-$n-${names[size]} $ours $theirs"
        done <"$work/run/logs/attempt-0/rank-00000.out"
        rm -rf "$work/run"
    done
}
