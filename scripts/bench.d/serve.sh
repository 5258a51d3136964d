# shellcheck shell=bash disable=SC2034,SC2046,SC2154
# raytrain-serve with the network of the quick start, 784-512-512-10, one image a request, as
# JSON. Every process that predicts has one thread.
#   serve-latency     one client and one worker, the median, against the same network called by
#                     a handler of libmicrohttpd
#   serve-throughput  32 clients and two workers, against torch behind FastAPI and uvicorn with
#                     two processes
#   serve-p99         half of that throughput, at equal distances: the 99th percentile of the
#                     latency, against its median
#   serve-switch      under the same load the version changes twice: the longest latency, less
#                     the 99th percentile without a change. All requests are answered.
turns=5

rows()
{
    echo "serve-latency us <=1.25"
    echo "serve-throughput requests/s >=5"
    echo "serve-p99 us <=5"
    echo "serve-switch ms ours<=50"
}

# The first image of the test set, as a request.
image_request()
{
    gzip -dc /usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz |
        od -An -v -tu1 -w784 -j 16 -N 784 | tr -s ' ' ',' | sed 's/^,//
            s/.*/{"inputs": [{"name": "x", "datatype": "UINT8", "shape": [1, 28, 28], "data": [&]}]}/'
}

prepare()
{
    local examples=$top/share/examples
    /usr/bin/python3 -c 'import fastapi, torch, uvicorn' >&2 &&
        compile "$work/load" -D_GNU_SOURCE "$top/scripts/bench.d/serve_load.c" &&
        compile "$work/plain" "$top/scripts/bench.d/serve_plain.c" "$examples"/mlp{,_cpu}.c \
            -I"$examples" $(pkg-config --cflags --libs openblas libmicrohttpd) -lm &&
        compile "$work/mlp.so" -shared -fPIC "$examples/fashion_mlp.c" \
            "$examples"/mlp{,_cpu}.c $(pkg-config --cflags --libs openblas) -lm &&
        image_request >"$work/request.json" &&
        "$bin/raytrain-run" --launcher local --workers 2 --progress none --storage "$work" \
            --name fashion --config "$examples/fashion_mlp.cfg" \
            --set train_loop_config.epochs=3 \
            --set run_config.checkpoint_config.num_to_keep=0 "$work/mlp.so" >&2 || return
    export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
    # The service begins with the first version; the others follow.
    mkdir "$work/served" &&
        cp "$work/fashion/run.cfg" "$work/fashion/checkpoint_000001.h5" "$work/served/"
}

# begin PORT COMMAND...: a server in the background, its process in $server, until it listens.
begin()
{
    local port=$1 i
    shift
    "$@" >"$work/server.log" 2>&1 </dev/null &
    server=$!
    trap end EXIT
    for ((i = 0; i < 600; i++)); do
        listens "$port" && return
        kill -0 "$server" || break
        sleep 0.1
    done
    cat "$work/server.log" >&2
    return 1
}

listens()
{
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

end()
{
    local status
    trap - EXIT
    kill "$server" && wait "$server"
    status=$?
    [ $status -le 143 ] || echo >&2 "bench: the server ended with status $status"
    return $((status > 143))
}

# service WORKERS [OPTION...]
service()
{
    local workers=$1
    shift
    begin 8801 "$bin/raytrain-serve" "$work/served" --listen 127.0.0.1:8801 --no-token --model fashion \
        --workers "$workers" --input x:uint8:28x28 "$@" "$work/mlp.so"
}

# load PORT PATH CLIENTS SECONDS RATE: the figures are in an array of this name.
load()
{
    read -r -a load < <("$work/load" "127.0.0.1:$1" "$2" "$work/request.json" "$3" "$4" "$5") &&
        [ "${load[4]}" -eq 0 ] || { echo >&2 "bench: requests failed: ${load[*]}"; return 1; }
}

infer=/v2/models/fashion/infer

latency()
{
    local theirs
    begin 8802 "$work/plain" 8802 && load 8802 / 1 3 0 && end || return
    theirs=${load[1]}
    service 1 && load 8801 $infer 1 3 0 && end || return
    echo "serve-latency ${load[1]} $theirs"
}

under_load()
{
    local theirs rate p99 version
    begin 8803 env PYTHONPATH="$top/scripts/bench.d" /usr/bin/python3 -m uvicorn --workers 2 \
        --port 8803 --log-level warning --no-access-log serve_torch:app &&
        load 8803 /infer 32 3 0 && end || return
    theirs=${load[0]}
    service 2 --last --follow && load 8801 $infer 32 3 0 || return
    echo "serve-throughput ${load[0]} $theirs"
    rate=$(awk "BEGIN { print ${load[0]} / 2 }")
    load 8801 $infer 32 3 "$rate" || return
    echo "serve-p99 ${load[2]} ${load[1]}"
    p99=${load[2]}
    "$work/load" 127.0.0.1:8801 $infer "$work/request.json" 32 8 "$rate" >"$work/switch" &
    for version in 2 3; do
        sleep 2
        cp "$work/fashion/checkpoint_00000$version.h5" "$work/served/.new" &&
            mv "$work/served/.new" "$work/served/checkpoint_00000$version.h5" || return
    done
    wait $! && read -r -a load <"$work/switch" && [ "${load[4]}" -eq 0 ] ||
        { echo >&2 "bench: requests failed: $(cat "$work/switch")"; return 1; }
    curl -s "http://127.0.0.1:8801/v2/models/fashion/infer" -d @"$work/request.json" |
        grep -q '"model_version":"3"' || { echo >&2 "bench: no switch"; return 1; }
    end && rm -f "$work"/served/checkpoint_00000[23].h5
    echo "serve-switch $(awk "BEGIN { print (${load[3]} - $p99) / 1000 }") 1"
}

sample()
{
    latency && under_load
}
