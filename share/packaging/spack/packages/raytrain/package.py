"""The recipe for Spack. In the source tree:

    spack repo add share/packaging/spack
    spack dev-build raytrain@0.1.0

pmix and the MPI should be those of the site's Slurm: declare them as externals in packages.yaml.
"""
try:
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage  # Spack 1.0
except ImportError:
    pass
from spack.package import *


class Raytrain(AutotoolsPackage):
    """Distributed training under Slurm: runs a training function on many workers, keeps metrics and
    checkpoints as HDF5, restarts after failures and continues on any number of workers."""

    version("0.1.0")

    variant("example", default=False, description="Build the larger example, with OpenBLAS")
    variant("tests", default=False, description="Unit tests and fault points")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("pmix@4:")
    depends_on("mpi")
    depends_on("hdf5@1.10:+mpi")
    depends_on("libconfig")
    depends_on("jansson@2.13:")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("libdeflate")
    depends_on("libmicrohttpd")
    depends_on("protobuf-c")
    depends_on("python@3.9:", type="run")
    depends_on("openblas", when="+example")
    depends_on("cmocka", when="+tests")

    def configure_args(self):
        args = ["MPI_HOME=" + self.spec["mpi"].prefix, "HDF5_ROOT=" + self.spec["hdf5"].prefix]
        if self.spec.satisfies("~tests"):
            args.append("--disable-fault-points")
        return args

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.share.raytrain.python)
