# find_mpi_hdf5.m4 - find MPI and HDF5, which sites install in many ways.

# RAYTRAIN_SORT_FLAGS(PREFIX, WORDS): add the words of a compiler's command line that are for
# compiling to PREFIX_CFLAGS, and those for linking to PREFIX_LIBS.
AC_DEFUN([RAYTRAIN_SORT_FLAGS], [
  for word in $2; do
    case $word in
    -I* | -D*) $1_CFLAGS="$$1_CFLAGS $word" ;;
    -L* | -l* | -Wl,* | *.a | *.so) $1_LIBS="$$1_LIBS $word" ;;
    esac
  done])

# RAYTRAIN_ASK_WRAPPER(PREFIX, WRAPPER): set PREFIX_CFLAGS and PREFIX_LIBS to what a compiler
# wrapper such as mpicc or h5pcc adds. Those of Open MPI take --showme, all others -show; those
# of HDF5 print static libraries unless asked for shared ones.
AC_DEFUN([RAYTRAIN_ASK_WRAPPER], [
  AC_MSG_CHECKING([what $2 compiles and links with])
  $1_CFLAGS= $1_LIBS=
  words=`($2 --showme || $2 -shlib -show || $2 -show) 2>/dev/null`
  RAYTRAIN_SORT_FLAGS([$1], [$words])
  AS_IF([test -n "$$1_LIBS"],
    [AC_MSG_RESULT([$$1_CFLAGS $$1_LIBS])],
    [AC_MSG_RESULT([it does not say])])])

# RAYTRAIN_ASK_MODULES(PREFIX, MODULES): unless PREFIX has been found, use the first of these
# pkg-config modules that exists.
AC_DEFUN([RAYTRAIN_ASK_MODULES], [
  for module in $2; do
    AS_IF([test -z "$$1_from" && $PKG_CONFIG --exists $module],
      [$1_CFLAGS=`$PKG_CONFIG --cflags $module`
       $1_LIBS=`$PKG_CONFIG --libs $module`
       $1_from="$module (pkg-config)"])
  done])

# RAYTRAIN_FIND(PREFIX, WRAPPER-VARIABLE, WRAPPERS, ROOT, MODULES): PREFIX_CFLAGS and
# PREFIX_LIBS as set by the user; else from the wrapper named by the user, or from one in
# ROOT/bin; else from the first pkg-config module that exists; else from a wrapper in PATH.
AC_DEFUN([RAYTRAIN_FIND], [
  AC_ARG_VAR([$2], [compiler wrapper that knows how to build with $1])
  AC_ARG_VAR([$1_CFLAGS], [how to compile with $1, overriding all else])
  AC_ARG_VAR([$1_LIBS], [how to link with $1, overriding all else])
  $1_from=
  AS_IF([test -n "$$1_CFLAGS$$1_LIBS"], [$1_from="$1_CFLAGS and $1_LIBS"])
  AS_IF([test -z "$$1_from" && test -z "$$2" && test -n "$$4"],
    [AC_PATH_PROGS([$2], [$3], [], [$$4/bin])])
  AS_IF([test -z "$$1_from" && test -n "$$2"],
    [RAYTRAIN_ASK_WRAPPER([$1], [$$2])
     $1_from=$$2])
  AS_IF([test -z "$$1_from" && test -n "$$4"],
    [$1_CFLAGS="-I$$4/include"
     $1_LIBS="-L$$4/lib -Wl,-rpath,$$4/lib -l[]m4_tolower([$1])"
     $1_from=$$4])
  RAYTRAIN_ASK_MODULES([$1], [$5])
  AS_IF([test -z "$$1_from"],
    [AC_PATH_PROGS([$2], [$3])
     AS_IF([test -n "$$2"],
       [RAYTRAIN_ASK_WRAPPER([$1], [$$2])
        $1_from=$$2])])])

# RAYTRAIN_NEED(PREFIX, HEADER, CALL, MORE-LIBS, HINT): check that a program with this call can
# be linked.
AC_DEFUN([RAYTRAIN_NEED], [
  AC_MSG_CHECKING([for $1 by $$1_from])
  saved_CFLAGS=$CFLAGS saved_LIBS=$LIBS
  CFLAGS="$CFLAGS $$1_CFLAGS" LIBS="$$1_LIBS $4 $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <$2>]], [[$3;]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([cannot build with $1. $5])])
  CFLAGS=$saved_CFLAGS LIBS=$saved_LIBS])

# If MPI was found through its wrapper, there may be several: then the HDF5 wrapper in PATH is
# more likely to belong to it than the system's module. A serial HDF5 works as well, since the
# ranks write the data themselves. The header of a parallel one includes mpi.h.
AC_DEFUN([RAYTRAIN_FIND_MPI_AND_HDF5], [
  RAYTRAIN_FIND([MPI], [MPICC], [mpicc], [MPI_HOME], [mpich ompi-c ompi])
  RAYTRAIN_NEED([MPI], [mpi.h], [MPI_Init_thread(0, 0, 0, 0)], [],
    [Install an MPI library (libmpich-dev on Debian, mpich-devel on Fedora), or name its
compiler wrapper: ./configure MPICC=/path/to/mpicc, or set MPI_CFLAGS and MPI_LIBS.])
  AS_CASE([$MPI_from],
    [mpich*], [hdf5_modules="hdf5-mpich hdf5"],
    [ompi*], [hdf5_modules="hdf5-openmpi hdf5"],
    [hdf5_modules=])
  RAYTRAIN_FIND([HDF5], [H5PCC], [h5pcc h5cc], [HDF5_ROOT], [$hdf5_modules])
  RAYTRAIN_ASK_MODULES([HDF5], [hdf5])
  AS_VAR_APPEND([HDF5_CFLAGS], [" $MPI_CFLAGS"])
  RAYTRAIN_NEED([HDF5], [hdf5.h], [H5open()], [$MPI_LIBS],
    [Install HDF5 (libhdf5-mpich-dev on Debian, hdf5-mpich-devel on Fedora), or name its
compiler wrapper: ./configure H5PCC=/path/to/h5pcc, or set HDF5_CFLAGS and HDF5_LIBS.])])
