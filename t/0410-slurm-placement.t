#!/bin/sh

test_description='A real step places workers as planned, for each row of the table of placements'

SETUP_WITHOUT_STAGE=1
CLUSTER_CPUS=8
CLUSTER_MEMORY=40000
export CLUSTER_CPUS CLUSTER_MEMORY
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

in_job () {
	salloc -Q -N4 --exclusive --gpus-per-node=4 "$@"
}

# plan_expand PLAN: print a line for each rank; "n1*2 n2*1" becomes 0 n1, 1 n1, 2 n2.
plan_expand () {
	rank=0
	for node in $1; do
		for k in $(seq "${node#*\*}"); do
			echo "$rank ${node%\**}"
			rank=$((rank + 1))
		done
	done
}

# gpus_apart N: in lines "RANK NODE GPU,GPU", each worker has N GPUs, and shares none.
gpus_apart () {
	awk -v n="$1" '
		{
			if (split($3, gpu, ",") != (n > 0 ? n : 0) && !(n == 0 && NF == 2))
				bad = 1
			for (i in gpu)
				if (taken[$2, gpu[i]]++)
					bad = 1
		}
		END { exit bad }'
}

# parts_apart K: K workers share a GPU: of each node, the first K local ranks have one, and so on.
parts_apart () {
	awk -v k="$1" '
		{
			node[NR] = $2; gpu[NR] = $3; n = local[$2]++; place[NR] = int(n / k)
			if (NF != 3 || $3 ~ /,/)
				bad = 1
		}
		END {
			for (i = 1; i <= NR; i++)
				for (j = 1; j < i; j++)
					if (node[i] == node[j] && (gpu[i] == gpu[j]) != (place[i] == place[j]))
						bad = 1
			exit bad
		}'
}

cat >worker.sh <<'EOF'
echo "$SLURM_PROCID $(hostname) $CUDA_VISIBLE_DEVICES"
EOF

"$builddir/t/unit/test_placement" --rows >rows

test_expect_success 'the table of placements has rows' '
	test $(wc -l <rows) -gt 20
'

while IFS='|' read -r nodes options plan; do
	test_expect_success "$nodes, $options: $plan" '
		rm -rf logs &&
		gpus=${options#*--gpus } && gpus=${gpus%% *} && parts= &&
		case $gpus in
		0.*) parts=$(awk "BEGIN { print int(1 / $gpus) }") ;;
		esac &&
		in_job "$check/launch_run" --have "$nodes" $options \
			"$check/own_gpus" "${parts:+1/}${parts:-$gpus}" sh worker.sh >said </dev/null &&
		echo "plan $plan" >expected && head -n1 said >actual && test_cmp expected actual &&
		plan_expand "$plan" >expected &&
		sort -n logs/rank-*.out >all && cut -d" " -f1,2 all >actual &&
		test_cmp expected actual &&
		if test "$parts"; then parts_apart "$parts" <all; else gpus_apart "$gpus" <all; fi
	'
done <rows

test_expect_success 'no job or process is left' '
	cluster clean
'

test_done
