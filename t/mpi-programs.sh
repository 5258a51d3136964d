# mpi-programs.sh - sourced after setup.sh by tests of MPI programs in commands. Sets the
# prerequisites MPICH and OPEN_MPI, if there are such programs.

# mpi_child MPI: the program t/check/mpi_child with MPICH or with Open MPI. Where raytrain is
# built with MPICH, Open MPI has no headers: see t/check/open_mpi/mpi.h.
mpi_child () {
	case $1 in
	"$mpi_of_raytrain") echo "$check/mpi_child" ;;
	*) echo "$PWD/mpi_child.$1" ;;
	esac
}
mpi_of_raytrain=MPICH
if ldd "$check/mpi_child" 2>/dev/null | grep -q "libmpi[.]so"; then
	mpi_of_raytrain=OPEN_MPI
elif ${CC:-cc} -O -I"$srcdir/t/check/open_mpi" -o mpi_child.OPEN_MPI \
	"$srcdir/t/check/mpi_child.c" -l:libmpi.so.40 2>/dev/null; then
	test_set_prereq OPEN_MPI
fi
test_set_prereq $mpi_of_raytrain
