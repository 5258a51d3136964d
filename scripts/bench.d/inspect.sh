# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# raytrain-inspect of a directory of 1,000 runs with 1,000 reports each.
turns=3

rows()
{
    echo "inspect-dir ms ours<=1000"
}

# Copies of one run are real files, as those of 1,000 trainings.
prepare()
{
    local i
    mkdir -p "$work/run/logs/attempt-0" &&
        echo 'seed = 1L;' >"$work/run/run.cfg" &&
        awk 'BEGIN {
            for (i = 1; i <= 1000; i++)
                printf "{\"training_iteration\":%d,\"attempt\":0,\"timestamp\":%d," \
                    "\"time_total_s\":%d,\"world_size\":2,\"loss\":%g," \
                    "\"by_rank\":{\"loss\":{\"rank0\":1,\"min\":0,\"max\":2}}}\n",
                    i, 1700000000 + i, i, 1 / i
        }' >"$work/run/result.json" || return
    for ((i = 0; i < 1000; i++)); do
        mkdir -p "$work/runs/$((i / 100))" && cp -r "$work/run" "$work/runs/$((i / 100))/$i" ||
            return
    done
}

sample()
{
    echo "inspect-dir $(milliseconds "$bin/raytrain-inspect" "$work/runs") 0"
}
