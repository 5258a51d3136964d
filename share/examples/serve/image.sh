#!/bin/sh
# image.sh N [CURL-OPTION...] URL - ask a service for the class of test image N of
# Fashion-MNIST (Debian package dataset-fashion-mnist), by curl:
#
#   raytrain-serve raytrain_results/fashion --listen ./socket --input x:uint8:28x28 \
#       ./fashion_mlp.so &
#   ./image.sh 0 --unix-socket ./socket http://localhost/v2/models/fashion/infer
#
# The image goes as a binary tensor: a line of JSON says what it is, and its bytes follow.
set -eu
images=/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz
pixels=$((28 * 28)) head=16 # bytes

n=$1
shift
json='{"inputs": [{"name": "x", "datatype": "UINT8", "shape": [1, 28, 28],
	"parameters": {"binary_data_size": '$pixels'}}]}'
{
	printf '%s' "$json"
	zcat "$images" | tail -c +$((head + n * pixels + 1)) | head -c $pixels
} | curl -sS --fail-with-body --data-binary @- \
	-H "Inference-Header-Content-Length: $(printf '%s' "$json" | wc -c)" "$@"
echo
