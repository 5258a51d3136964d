#!/bin/sh
test_description='the examples train, and resumed runs give the same bits'
. "$(dirname "$0")/setup.sh"

examples=$builddir/share/examples
run="raytrain-run --launcher local --storage runs --progress plain"
fashion="$run -c $srcdir/share/examples/fashion_mlp.cfg
	--set train_loop_config.hidden=[64,32] --set train_loop_config.epochs=2"

# metric RUN NAME: print a metric of the last report.
metric () {
	tail -n 1 "runs/$1/result.json" | jq ".$2"
}
# same_tensors A B NAME...: these tensors are the same in two checkpoints.
same_tensors () {
	a=$1 b=$2
	shift 2
	for name; do
		h5dump -d "$name" -b LE -o a.bin "$a" >/dev/null &&
		h5dump -d "$name" -b LE -o b.bin "$b" >/dev/null &&
		cmp a.bin b.bin || return 1
	done
}
same_network () {
	same_tensors "runs/$1/checkpoint_000002.h5" "runs/$2/checkpoint_000002.h5" \
		/model/fc1/weight /model/fc1/bias /model/fc3/weight \
		/optimizer/momentum/fc2/weight
}

test_expect_success 'hello learns the slope' '
	$run -n 2 "$examples/hello.so" 2>err &&
	metric hello slope >slope && jq -e ". > 2.7 and . < 3.3" slope
'
test_expect_success 'hello continues from its checkpoint' '
	$run -n 2 --resume --set train_loop_config.epochs=12 "$examples/hello.so" 2>err &&
	test "$(metric hello training_iteration)" -eq 12
'
test_expect_success 'fashion_mlp learns Fashion-MNIST' '
	$fashion --name calm "$examples/fashion_mlp.so" 2>err &&
	metric calm accuracy >accuracy && jq -e ". > 0.83" accuracy &&
	test "$(jq -s length runs/calm/result.json)" -eq 2
'
test_expect_success 'a checkpoint of fashion_mlp has readable names and shapes' '
	h5dump -H runs/calm/checkpoint_000002.h5 >header &&
	grep -q "GROUP \"model\"" header && grep -q "GROUP \"momentum\"" header &&
	h5dump -H -d /model/fc1/weight runs/calm/checkpoint_000002.h5 >weight &&
	grep -q "( 64, 784 )" weight
'
test_expect_success 'fashion_mlp stopped and resumed gives the same bits' '
	$fashion --name stopped --set run_config.stop.training_iteration=1 \
		"$examples/fashion_mlp.so" 2>err &&
	test_path_is_missing runs/stopped/checkpoint_000002.h5 &&
	$fashion --name stopped --resume "$examples/fashion_mlp.so" 2>err &&
	same_network calm stopped
'
test_expect_success 'fashion_mlp as a program gives the same bits' '
	$fashion --name program "$examples/fashion_mlp" 2>err && same_network calm program
'
test_expect_success 'fashion_mlp predicts the test images as well as it has learnt' '
	images=/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz &&
	raytrain-predict --launcher local -n 2 --checkpoint runs/calm --columns y \
		--data $images -o predictions.csv "$examples/fashion_mlp.so" 2>err &&
	sed 1d predictions.csv | awk -F, "{ right += \$1 == \$2 } END { print right / NR }" >right &&
	jq -e ". > 0.83" right
'
serving () {
	curl -s -f --unix-socket socket -o out http://localhost/v2/health/ready
}
test_expect_success 'fashion_mlp as a service says of images what raytrain-predict says' '
	{ raytrain-serve runs/calm --listen ./socket "$examples/fashion_mlp.so" 2>err & } &&
	service=$! && eventually serving &&
	curl -s --unix-socket socket http://localhost/v2/models/calm >model.json &&
	jq -e ".inputs | map([.name, .datatype, .shape]) == [[\"x\", \"UINT8\", [-1, 28, 28]]]" \
		model.json &&
	for i in 0 17 9999; do
		sh "$srcdir/share/examples/serve/image.sh" $i --unix-socket socket \
			http://localhost/v2/models/calm/infer >answer.json &&
		jq -e ".outputs[] | select(.name == \"class\") | .data[0]" answer.json || return 1
	done >actual &&
	kill "$service" && wait "$service" &&
	raytrain-predict --launcher local --checkpoint runs/calm --data \
		/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz -o classes.csv \
		"$examples/fashion_mlp.so" 2>err &&
	sed 1d classes.csv | sed -n "1p; 18p; 10000p" | cut -d , -f 1 >expected &&
	test_cmp expected actual
'
test_expect_success 'fashion_mlp learns with three workers and short last batches' '
	$fashion -n 3 --name three --set train_loop_config.batch_size=89 \
		"$examples/fashion_mlp.so" 2>err &&
	metric three accuracy >accuracy && jq -e ". > 0.81" accuracy
'
test_expect_success 'fashion_mlp refuses settings out of range' '
	expect_status 1 $fashion --name wide --set train_loop_config.hidden=[64,0] \
		"$examples/fashion_mlp.so" 2>err &&
	grep "hidden takes up to" err
'
test_expect_success 'fashion_mlp refuses a dataset of another type' '
	printf "\0\0\015\002\0\0\0\001\0\0\0\001\0\0\0\0" >floats-idx2 &&
	expect_status 1 $fashion --name floats --set datasets.train.path="$PWD/floats-idx2" \
		--set datasets.train.label="$PWD/floats-idx2" "$examples/fashion_mlp.so" 2>err &&
	grep "x must be bytes" err
'
test_done
