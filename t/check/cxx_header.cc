/* The public headers work in C++: this file only has to compile and link. */
#include <raytrain.h>
#include <raytrain_mpi.h>

extern "C" RAYTRAIN_API int train_func(raytrain_context *ctx)
{
    raytrain_metric metric = {"loss",
                              raytrain_random_uniform(ctx, RAYTRAIN_STREAM_RANK)};
    raytrain_tensor tensor = {};
    MPI_Comm comm;

    if (raytrain_mpi_comm(ctx, &comm) != RAYTRAIN_OK)
        return 1;
    tensor.dtype = RAYTRAIN_FLOAT32;
    return raytrain_dtype_size(tensor.dtype) == 4
               ? raytrain_report(ctx, &metric, 1, nullptr)
               : 1;
}
