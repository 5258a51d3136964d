# The Slurm test cluster, and the tests that run on it.
EXTRA_DIST += t/cluster/cluster t/cluster/hub t/cluster/node t/cluster/cluster.sh

dist_check_SCRIPTS += t/0050-cluster.t
TESTS += t/0050-cluster.t
