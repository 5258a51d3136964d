# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# Files of text into columns in memory, from a warm cache: CSV with numbers, and with names
# and categories, against pandas.read_csv (its C engine), and LIBSVM against XGBoost's loader.
# Each is one thread on one core; what counts is the time of that core.
turns=5

rows()
{
    echo "csv-numbers ms <=0.25"
    echo "csv-words ms <=0.5"
    echo "libsvm ms <=0.667"
}

prepare()
{
    compile "$work/csv" -std=gnu11 -D_GNU_SOURCE -I"$top/src/include" -I"$top/src/common" \
        -I"$top/src/worker" "$top/scripts/bench.d/csv.c" "$build/libworker.a" \
        "$build/libcommon.a" -ljansson -lpthread -lm &&
        "$work/csv" make numbers "$work/csv-numbers" 300000000 &&
        "$work/csv" make words "$work/csv-words" 100000000 &&
        "$work/csv" make libsvm "$work/libsvm" 150000000 && sync
}

# ours|theirs ROW: read the file of that name.
ours()
{
    taskset -c 0 "$work/csv" read "${1%%-*}" "$work/$1"
}

theirs()
{
    taskset -c 0 /usr/bin/python3 "$top/scripts/bench.d/csv-peers.py" "${1%%-*}" "$work/$1"
}

sample()
{
    local ours theirs row
    for row in csv-numbers csv-words libsvm; do
        if [ $(($1 % 2)) -eq 0 ]; then
            ours=$(ours $row) && theirs=$(theirs $row)
        else
            theirs=$(theirs $row) && ours=$(ours $row)
        fi || return
        echo "$row $ours $theirs"
    done
}
