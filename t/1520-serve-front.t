#!/bin/sh
test_description='The front of a service as clients see it, good ones and bad ones

The workers are threads of t/check/serve_front.c, and most clients are functions of
t/check/serve_front.py.'
SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/setup.sh"

# clients FUNCTION: one of serve_front.py.
clients () {
	"$PYTHON" "$srcdir/t/check/serve_front.py" "$check/serve_front" "$1"
}

# start_front [OPTION...] ADDRESS: in the background, with a worker; $address is where it
# listens, and its log is in the file err.
start_front () {
	rm -f commands answers && mkfifo commands && >answers || return 1
	"$check/serve_front" "$@" <commands >answers 2>err 9>&- &
	front=$!
	exec 9>commands
	echo "worker 1" >&9
	eventually grep -q ok answers && address=$(head -n 1 answers)
}

# It ends, and all is well.
end_front () {
	exec 9>&-
	wait $front
}

row='{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1.5, 2]},
	{"name": "t", "datatype": "BYTES", "shape": [1], "data": ["a"]}]}'

test_expect_success 'all routes answer, for a model and for its versions' 'clients routes'
test_expect_success 'one of several models answers while the other does not, and the index has both' '
	clients several_models
'
test_expect_success 'a wrong method gets 405 and the right ones; OPTIONS and HEAD work' '
	clients wrong_methods
'
test_expect_success 'no trick with a path finds anything' 'clients path_tricks'
test_expect_success 'bad bodies, bad UTF-8 and compressed ones are refused' 'clients bodies'
test_expect_success 'binary tensors go in and come out' 'clients binary'
test_expect_success 'a body that is too large gets 413' 'clients too_large'
test_expect_success 'a gigabyte is refused, and not kept' 'clients gigabyte'
test_expect_success 'many large bodies at once get 503, and no more memory' '
	clients many_large
'
test_expect_success 'a header that is too long is refused' 'clients long_header'
test_expect_success 'a header with two meanings is refused at once, and ends the connection' '
	clients two_meanings
'
test_expect_success 'connections are kept, also for requests sent ahead' 'clients keep_alive'
test_expect_success 'half requests do no harm' 'clients half_requests'
test_expect_success 'silent and slow clients are disconnected, waiting ones are not' '
	clients silent_clients
'
test_expect_success '10000 silent clients with 1500 slots do not keep others out' '
	clients many_idle
'
test_expect_success 'a full queue gets 429 and Retry-After' 'clients full_queue'
test_expect_success 'the health is answered while all connections wait' 'clients all_wait'
test_expect_success 'answers that are not read have a limit of memory' 'clients unread'
test_expect_success 'without a worker there is 503, until there is one' 'clients no_worker'
test_expect_success 'rows that end workers get 503, all others their answer' '
	clients workers_die
'
test_expect_success 'versions switch under load without a failed request' 'clients switch'
test_expect_success 'requests of a replaced version that ends are answered by the new one' '
	clients version_dies
'
test_expect_success 'accepted requests are answered at the end, new ones get 503' '
	clients drain
'
test_expect_success 'without the token there is 401, whatever the path' 'clients tokens'
test_expect_success 'without a token, only names of this machine are answered' 'clients names'
test_expect_success 'a Unix socket is private, and removed at the end' 'clients unix_socket'
test_expect_success 'metrics count requests, and the access log has a line for each' '
	clients metrics
'
test_expect_success 'good clients get their answers among bad ones' 'clients mixed_load'

test_expect_success 'curl sends JSON and CSV over a Unix socket' '
	echo "$row" >row.json && printf "x_0,x_1,t\n1.5,2,a\n" >row.csv &&
	start_front ./front && test "$address" = unix:./front &&
	curl -sSf --unix-socket front -d @row.json http://h/v2/models/m/infer >json.out &&
	curl -sSf --unix-socket front -H "Content-Type: text/csv" --data-binary @row.csv \
		http://h/v2/models/m/infer >csv.out &&
	curl -sSf0 --unix-socket front -d @row.json http://h/v2/models/m/infer >old.out &&
	end_front &&
	jq -e ".outputs[0].data == [3.5] and .outputs[1].data == [\"a\"]" json.out csv.out old.out
'
test_expect_success 'TLS with a token on an address for others' '
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 \
		-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
		-keyout key.pem -out cert.pem 2>openssl.err &&
	start_front --tls-cert cert.pem --tls-key key.pem --token-file token 0.0.0.0:0 &&
	url=https://127.0.0.1:${address##*:} &&
	curl -sSf --cacert cert.pem --oauth2-bearer "$(cat token)" -d "$row" \
		$url/v2/models/m/infer >tls.out &&
	jq -e ".outputs[0].data == [3.5]" tls.out &&
	test 401 = "$(curl -sS --cacert cert.pem -o /dev/null -w "%{http_code}" $url/v2)" &&
	test_must_fail curl -sS --cacert cert.pem --tls-max 1.1 $url/v2 &&
	test_must_fail curl -sS $url/v2 &&
	test_must_fail curl -sS http://127.0.0.1:${address##*:}/v2 &&
	end_front
'
test_expect_success 'what would not be safe, or cannot work, is refused with a reason' '
	test_must_fail "$check/serve_front" 0.0.0.0:0 </dev/null 2>err &&
	grep -e --no-token err &&
	test_must_fail "$check/serve_front" --tls-cert cert.pem 127.0.0.1:0 </dev/null 2>err &&
	grep "its key" err && rm -f workers &&
	echo none >bad.pem &&
	test_must_fail "$check/serve_front" --tls-cert bad.pem --tls-key key.pem 127.0.0.1:0 \
		</dev/null 2>err &&
	grep "certificate" err && rm -f workers &&
	chmod 644 token &&
	test_must_fail "$check/serve_front" --token-file token 0.0.0.0:0 </dev/null 2>err &&
	grep "chmod 600" err
'
test_done
