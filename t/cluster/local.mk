# The Slurm test cluster, and the tests that run on it.
EXTRA_DIST += t/cluster/cluster t/cluster/hub t/cluster/node t/cluster/prolog t/cluster/cluster.sh \
	t/cluster/requeue.sh t/cluster/serve.sh t/cluster/serve_client.py

dist_check_SCRIPTS += t/0050-cluster.t
TESTS += t/0050-cluster.t

dist_check_SCRIPTS += t/0410-slurm-placement.t t/0411-slurm-steps.t
TESTS += t/0410-slurm-placement.t t/0411-slurm-steps.t
