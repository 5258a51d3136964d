# shellcheck shell=bash disable=SC2034,SC2154
# Preprocessors on two workers against scikit-learn in two processes: reading HDF5 from a warm
# cache, fitting and transforming. Ours is from the moment when the workers have joined to the
# start of training, with the fit, and one epoch of batches. preprocess-scale: standard_scaler,
# 10,000,000 x 20 float32; preprocess-encode: simple_imputer and one_hot_encoder, 5,000,000 values
# of 10 categories.
turns=3

rows()
{
    echo "preprocess-scale ms <=0.333"
    echo "preprocess-encode ms <=0.333"
}

prepare()
{
    /usr/bin/python3 -c 'import sklearn' &&
        /usr/bin/python3 -I "$top/scripts/bench.d/preprocess.py" make "$work" \
            "${PREPROCESS_ROWS:-10000000}" 5000000 &&
        compile "$work/preprocess.so" -shared -fPIC "$top/scripts/bench.d/preprocess.c" && sync
    cat >"$work/scale.cfg" <<CFG
datasets = { train = { path = "$work/rows.h5"; }; };
preprocessor = ( { type = "standard_scaler"; columns = ["x"]; } );
CFG
    cat >"$work/encode.cfg" <<CFG
datasets = { train = { path = "$work/words.h5"; }; };
preprocessor = ( { type = "simple_imputer"; columns = ["c"]; strategy = "most_frequent"; },
                 { type = "one_hot_encoder"; columns = ["c"]; } );
CFG
}

# ours NAME
ours()
{
    local log=$work/run/logs/attempt-0

    rm -rf "$work/run"
    "$bin/raytrain-run" --launcher local --workers 2 --progress none -c "$work/$1.cfg" \
        --storage "$work" --name run "$work/preprocess.so" >&2 || return
    jq -s --argjson epoch "$(cat "$log"/rank-*.out)" '
        map({(.kind): .time}) | add | (.started - .joined) * 1000 + $epoch' "$log/events.json"
}

sample()
{
    local name ours theirs

    for name in scale encode; do
        ours=$(ours $name) &&
            theirs=$(/usr/bin/python3 -I "$top/scripts/bench.d/preprocess.py" $name "$work") ||
            return
        echo "preprocess-$name $ours $theirs"
    done
}
