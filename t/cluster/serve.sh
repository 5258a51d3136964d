# serve.sh - sourced after setup.sh and predict.sh by a script that serves the run
# raytrain_results/fashion, a model of predictions.c, by the templates of share/sbatch.
#
#   template NAME         write job.sbatch: a template with the inputs of predictions.c
#   submit [OPTION...]    submit it, $job, and wait until it answers
#   served [N]            succeeds if N services (1) of the run answer; `where` has the lines
#                         of --where
#   ask_url               set $url and $token, those of the first one
#   predictions N         print what it predicts for the first N rows
#   same_numbers A B      succeeds if two files have the same numbers
#   under_load COMMAND... run a command while clients ask; then $sent is set, and answers.N
#                         has "STATUS PREDICTION" of the requests of client N
#   none_wrong            succeeds if each answer of that was right or a refusal, some were
#                         right, and all that was accepted was answered
#   job_ended             waits until the job has ended
#   ended_well            succeeds if it ended with status 0
#   has_steps N           succeeds if the job has N steps besides the batch script
#   has_gpus N            succeeds if its workers have N different lists of GPUs, in `gpus`

template () {
	sed -e 's|--input .*|--input x:float32:3 --input id:int64 \\|' \
		-e 's|^ *\(--input.*\)$|    \1\n    ./fashion_mlp.so|' \
		-e 's/cpus-per-task=2/cpus-per-task=1/; s/cpus-per-worker 2/cpus-per-worker 1/' \
		-e 's/cpus-per-task=8/cpus-per-task=2/' \
		"$srcdir/share/sbatch/$1.sbatch" >job.sbatch
}
served () {
	raytrain-serve --where raytrain_results/fashion >where 2>/dev/null &&
	test "$(wc -l <where)" = "${1:-1}"
}
submit () {
	job=$(sbatch --parsable "$@" job.sbatch) && eventually served
}
ask_url () {
	address=$(ls raytrain_results/fashion/serve/*/address.json | head -n 1) &&
	url=$(jq -r '.url | sub("//[^:]*"; "//" + $ip)' --arg ip "$(jq -r .address "$address")" \
		"$address") &&
	token=$(cat "$(jq -r .token_file "$address")")
}
predictions () {
	ask_url && "$PYTHON" "$srcdir/t/cluster/serve_client.py" "$url" "$token" one "$1"
}
same_numbers () {
	"$PYTHON" -c '
import sys
a, b = ([float(line.split(",")[0]) for line in open(f)] for f in sys.argv[1:])
assert a == b, (a, b)' "$1" "$2"
}
under_load () {
	ask_url && rm -f going load.txt &&
	{ "$PYTHON" "$srcdir/t/cluster/serve_client.py" "$url" "$token" load 4 going >load.txt & } &&
	client=$! && eventually test -s going && "$@" && wait "$client"
}
none_wrong () {
	cat load.txt && jq -e '.right > 0 and .wrong == 0 and .dropped == 0' load.txt
}
job_ended () {
	eventually job_state "$job" ""
}
ended_well () {
	scontrol show job "$job" >job.txt && grep "ExitCode=0:0" job.txt
}
has_steps () {
	test "$(squeue -h -s -j "$job" -o %i | grep -vc "batch\|extern")" = "$1"
}
# gpus_of_workers: print the GPUs of each worker that has started, in a line.
gpus_of_workers () {
	for node in n1 n2; do
		cluster on $node sh -c 'for p in /proc/[0-9]*; do
			tr "\0" " " <$p/cmdline | grep -q "^[^ ]*/raytrain-worker " || continue
			tr "\0" "\n" <$p/environ | grep "^CUDA_VISIBLE_DEVICES="
		done; true'
	done
}
# The first worker that is ready answers while the others start.
has_gpus () {
	gpus_of_workers >gpus && test "$(sort -u gpus | wc -l)" = "$1"
}
