# shellcheck shell=bash disable=SC2034,SC2154
# The trainers of trees, on two workers with one thread each.
#   trees-xgboost, trees-lightgbm   a round on 1,000,000 x 50 numbers, with its evaluation, against
#                                   the library alone in one process with two threads (medians)
#   trees-command     all of raytrain-run: 10 rounds on a CSV file of 10,000 x 20, against a script
#                     that uses XGBoost's Python module
#   trees-memory      the peak of a worker, against its rows and XGBoost's memory for them
#   trees-checkpoint  a round with a checkpoint of a model of 1 MB, against one without (means):
#                     both go on with a model of 60 trees
# LightGBM is the library of RAYTRAIN_LIGHTGBM_LIBRARY, or scripts/install-lightgbm builds it.
turns=7
rounds=30
old_rounds=60
new_rounds=21

rows()
{
    echo "trees-xgboost ms/round <=0.95"
    echo "trees-lightgbm ms/round <=1"
    echo "trees-command ms <=0.5"
    echo "trees-memory MiB <=1.2"
    echo "trees-checkpoint ms/round <=1.02"
}

prepare()
{
    python="/usr/bin/python3 -I $top/scripts/bench.d"
    xgboost='"objective": "binary:logistic", "tree_method": "hist", "eta": 0.1'
    lightgbm='"objective": "binary", "num_leaves": 63, "verbosity": -1'
    # shellcheck disable=SC2086 # a command and its arguments
    $python/trees.py make "$work" "${TREES_ROWS:-1000000}" && sync || return
    [[ " ${chosen[*]}" == *" trees-lightgbm "* ]] && lightgbm_find
    params "$xgboost" >"$work/xgboost.cfg"
    params "$xgboost, \"max_depth\": 8" >"$work/deep.cfg"
    params "$lightgbm" >"$work/lightgbm.cfg"
    [[ " ${chosen[*]}" != *" trees-checkpoint "* ]] || model_make
}

# params JSON-MEMBERS: the same for raytrain-run.
params()
{
    echo "{$1}" | jq -r 'to_entries | map("\(.key) = \(.value | tojson);") |
        "label = \"label\"; params = { \(join(" ")) };"'
}

lightgbm_find()
{
    if [ -z "${RAYTRAIN_LIGHTGBM_LIBRARY:-}" ]; then
        "$top/scripts/install-lightgbm" --prefix "$build/install" >&2 ||
            echo >&2 "bench: trees-lightgbm: LightGBM cannot be built"
        RAYTRAIN_LIGHTGBM_LIBRARY=$build/install/lib/raytrain/lib_lightgbm.so
    fi
    export RAYTRAIN_LIGHTGBM_LIBRARY
}

# trained CONFIG TRAINER ROWS ROUNDS [OPTION...]: a run of that many rounds in $work/run.
trained()
{
    rm -rf "$work/run"
    ${peak:-} "$bin/raytrain-run" --launcher local --workers 2 --progress none --storage "$work" \
        --name run --trainer "$2" -c "$work/$1.cfg" --dataset "train=$work/$3" \
        --set "num_boost_round=$4" "${@:5}" >"$work/out" 2>"$work/stderr" </dev/null ||
        { cat "$work/stderr" >&2; return 1; }
}

model_make()
{
    trained deep xgboost rows.h5 $old_rounds &&
        mv "$work"/run/checkpoint_*"$old_rounds.h5" "$work/model.h5"
}

# continued KEY=VALUE: a run that goes on with that model, with this key of checkpoint_config.
continued()
{
    trained deep xgboost rows.h5 $((old_rounds + new_rounds)) "--resume=$work/model.h5" \
        --set "run_config.checkpoint_config.checkpoint_$1"
}

# The first round of a run has the reading of the rows in it, and the last one a checkpoint.
round_median()
{
    jq -s '[.[1:-1][].time_this_iter_s] | sort | .[length / 2 | floor] * 1000' \
        "$work/run/result.json"
}
round_mean()
{
    jq -s '[.[1:-1][].time_this_iter_s] | add / length * 1000' "$work/run/result.json"
}

# ours|theirs ROW: one figure.
ours()
{
    case $1 in
    trees-xgboost) trained xgboost xgboost rows.h5 $rounds && round_median ;;
    trees-lightgbm) trained lightgbm lightgbm rows.h5 $rounds && round_median ;;
    trees-command) milliseconds trained xgboost xgboost rows.csv 10 ;;
    trees-memory)
        peak="$python/trees.py peak" trained xgboost xgboost rows.h5 3 && tail -n 1 "$work/out"
        ;;
    trees-checkpoint) continued frequency=1 && round_mean ;;
    esac
}

# shellcheck disable=SC2086 # a command and its arguments
theirs()
{
    case $1 in
    trees-xgboost) $python/trees.py xgboost "$work/rows.h5" $rounds "{$xgboost}" ;;
    trees-lightgbm)
        $python/trees.py lightgbm "$work/rows.h5" $rounds "{$lightgbm}" \
            "$RAYTRAIN_LIGHTGBM_LIBRARY"
        ;;
    trees-command)
        milliseconds $python/trees-plain.py "$work/rows.csv" "$work/model.ubj" "{$xgboost}" 10
        ;;
    trees-memory) $python/trees.py matrix "$work/rows.h5" "{$xgboost}" ;;
    trees-checkpoint) continued interval_s=86400 && round_mean ;;
    esac
}

sample()
{
    local row ours theirs
    for row in "${chosen[@]%% *}"; do
        [ "$row" != trees-memory ] || [ "$1" -lt 3 ] || continue
        if [ $(($1 % 2)) -eq 0 ]; then
            ours=$(ours "$row") && theirs=$(theirs "$row")
        else
            theirs=$(theirs "$row") && ours=$(ours "$row")
        fi || continue # the other rows do not need this one
        echo "$row $ours $theirs"
    done
}
