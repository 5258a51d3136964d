#!/bin/sh
test_description='a service on each node, behind HAProxy: a lost node costs no answer'
CLUSTER_NODES=2
CLUSTER_KILL_WAIT=15 CLUSTER_SLURMD_TIMEOUT=10
export CLUSTER_KILL_WAIT CLUSTER_SLURMD_TIMEOUT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"
. "$srcdir/t/cluster/serve.sh"

command -v haproxy >/dev/null || { skip_all="haproxy is not installed"; test_done; }

cd "$CLUSTER_SHARED" || exit 1
cp "$model" fashion_mlp.so && mkdir raytrain_results || exit 1
small="s/--workers 4/--workers 2/; s/cpus-per-worker 2/cpus-per-worker 1/"

test_expect_success 'serve-nodes.sbatch has a service on each node, with one token' '
	make_rows 10 && make_model && mv runs/model raytrain_results/fashion &&
	template serve-nodes && sed -i "$small" job.sbatch &&
	job=$(sbatch --parsable job.sbatch) && eventually served 2 &&
	jq -r .host raytrain_results/fashion/serve/*/address.json | sort >hosts &&
	printf "n1\nn2\n" >expected && test_cmp expected hosts &&
	test "$(cat raytrain_results/fashion/serve/*/address.json | jq -r .token_file | sort -u | wc -l)" = 1
'
test_expect_success '--haproxy writes a configuration that HAProxy accepts' '
	raytrain-serve --where --haproxy raytrain_results/fashion >proxy.cfg &&
	grep -c "^    server " proxy.cfg && ! grep -f raytrain_results/fashion/token proxy.cfg &&
	haproxy -c -f proxy.cfg
'
test_expect_success 'HAProxy answers what the services answer' '
	: >proxy.log && { haproxy -db -f proxy.cfg >>proxy.log 2>&1 & } && proxy=$! &&
	token=$(cat raytrain_results/fashion/token) && url=http://127.0.0.1:8080 &&
	eventually curl -sf "$url/v2/health/ready" &&
	"$PYTHON" "$srcdir/t/cluster/serve_client.py" "$url" "$token" one 10 >out &&
	test "$(wc -l <out)" = 10
'
test_expect_success 'a node that is killed under load costs no answer, and none is wrong' '
	rm -f going &&
	{ "$PYTHON" "$srcdir/t/cluster/serve_client.py" "$url" "$token" count 4 100 going \
		>load.txt & } && client=$! && eventually test -s going &&
	cluster kill n2 && wait "$client" && cat load.txt &&
	jq -e ".right == 400 and .wrong == 0 and .refused == 0 and .lost == 0" load.txt
'
test_expect_success 'scancel ends the service of the other node' '
	scancel "$job" && job_ended && kill "$proxy" && cluster revive n2 && cluster clean
'
# certificate NAME: for this host name.
certificate () {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 \
		-subj "/CN=$1" -addext "subjectAltName=DNS:$1" -keyout key.pem -out cert.pem 2>/dev/null
}
test_expect_success 'with TLS, HAProxy asks services whose certificate has their name, and no others' '
	rm -r raytrain_results/fashion/serve && # the lost node has left its address
	certificate n1 && template serve-nodes &&
	sed -i "$small; s/--workers/--tls-cert cert.pem --tls-key key.pem --workers/" job.sbatch &&
	job=$(sbatch --parsable job.sbatch) && eventually served 2 &&
	raytrain-serve --where --haproxy --listen 127.0.0.1:8081 raytrain_results/fashion \
		>proxy.cfg && haproxy -c -f proxy.cfg &&
	: >proxy.log && { haproxy -db -f proxy.cfg >>proxy.log 2>&1 & } && proxy=$! &&
	eventually grep "service2 is DOWN" proxy.log &&
	"$PYTHON" "$srcdir/t/cluster/serve_client.py" http://127.0.0.1:8081 "$token" count 2 10 \
		going >load.txt && cat load.txt && jq -e ".right == 20" load.txt &&
	! grep "service1 is DOWN" proxy.log &&
	bash -c "$(head -n 1 where)" >model.json && jq -e .name model.json &&
	test_must_fail bash -c "$(sed -n 2p where)" &&
	kill "$proxy" && scancel "$job" && job_ended && cluster clean
'
# serve_here OPTION...: a service on the login node, $service.
serve_here () {
	raytrain-serve raytrain_results/fashion --launcher local -q "$@" \
		--input x:float32:3 --input id:int64 ./fashion_mlp.so &
	service=$!
}
test_expect_success 'a service with TLS at an address without a name is refused' '
	serve_here --listen 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem &&
	eventually served &&
	expect_status 3 raytrain-serve --where --haproxy raytrain_results/fashion 2>err &&
	grep "by a name" err && kill "$service" && wait "$service"
'
test_expect_success 'services with a token each are refused: clients could not know which to send' '
	serve_here --listen 0.0.0.0:0 && first=$service && serve_here --listen 0.0.0.0:0 &&
	eventually served 2 &&
	expect_status 3 raytrain-serve --where --haproxy raytrain_results/fashion 2>err &&
	grep -e --token-file err && kill "$first" "$service" && wait "$first" && wait "$service"
'
test_done
