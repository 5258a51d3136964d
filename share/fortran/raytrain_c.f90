! raytrain_c.f90 - the constants, types and functions of raytrain.h and raytrain_mpi.h as they
! are in C. Programs use the module raytrain of raytrain.f90. Functions with strings, which have
! wrappers there, are called c_NAME here.
!
! A dummy argument that is a tensor must not have an INTENT: from INTENT(IN) gfortran concludes
! that a call neither changes nor keeps what the tensor points to.
module raytrain_c
  use, intrinsic :: iso_c_binding
  implicit none

  integer, parameter :: RAYTRAIN_MAX_DIMS = 8, RAYTRAIN_NAME_MAX = 255

  enum, bind(c) ! raytrain_status
    enumerator :: RAYTRAIN_OK = 0, RAYTRAIN_EINVAL, RAYTRAIN_ETYPE, RAYTRAIN_ENOTFOUND
    enumerator :: RAYTRAIN_ENOMEM, RAYTRAIN_EFIT, RAYTRAIN_ESTORAGE, RAYTRAIN_ECORRUPT
    enumerator :: RAYTRAIN_ECOMM, RAYTRAIN_EFAILED, RAYTRAIN_ESTOPPED, RAYTRAIN_EUSAGE
    enumerator :: RAYTRAIN_ENOTSUP, RAYTRAIN_END
  end enum
  enum, bind(c) ! raytrain_dtype
    enumerator :: RAYTRAIN_FLOAT32 = 1, RAYTRAIN_FLOAT64, RAYTRAIN_FLOAT16, RAYTRAIN_BFLOAT16
    enumerator :: RAYTRAIN_INT8, RAYTRAIN_INT16, RAYTRAIN_INT32, RAYTRAIN_INT64
    enumerator :: RAYTRAIN_UINT8, RAYTRAIN_UINT16, RAYTRAIN_UINT32, RAYTRAIN_UINT64
    enumerator :: RAYTRAIN_BYTES
  end enum
  enum, bind(c) ! raytrain_device
    enumerator :: RAYTRAIN_HOST = 0, RAYTRAIN_CUDA, RAYTRAIN_HIP
  end enum
  enum, bind(c) ! raytrain_op
    enumerator :: RAYTRAIN_SUM = 1, RAYTRAIN_MEAN, RAYTRAIN_MAX, RAYTRAIN_MIN
  end enum
  enum, bind(c) ! raytrain_stream
    enumerator :: RAYTRAIN_STREAM_RANK = 0, RAYTRAIN_STREAM_SHARED
  end enum

  type, bind(c) :: raytrain_tensor
    type(c_ptr) :: data = c_null_ptr
    integer(c_int) :: dtype = 0, ndim = 0
    integer(c_int64_t) :: shape(RAYTRAIN_MAX_DIMS) = 0
    integer(c_int) :: device = RAYTRAIN_HOST, device_id = 0
    integer(c_int64_t) :: reserved(2) = 0
  end type
  type, bind(c) :: raytrain_slab
    integer(c_int64_t) :: start(RAYTRAIN_MAX_DIMS) = 0, count(RAYTRAIN_MAX_DIMS) = 0
  end type
  type, bind(c) :: raytrain_metric
    type(c_ptr) :: name = c_null_ptr
    real(c_double) :: value = 0
  end type

  type, bind(c) :: raytrain_ragged
    integer(c_int64_t) :: rows = 0
    type(c_ptr) :: offsets = c_null_ptr, values = c_null_ptr
    integer(c_int) :: dtype = 0
    type(c_ptr) :: indices = c_null_ptr
    integer(c_int64_t) :: length = 0
  end type

  ! ---- Functions that are called as in C ----

  interface
    integer(c_size_t) function raytrain_dtype_size(dtype) bind(c)
      import; integer(c_int), value :: dtype
    end function
    integer(c_int) function raytrain_rank(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function raytrain_world_size(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function raytrain_local_rank(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function raytrain_local_world_size(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function raytrain_node_rank(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function raytrain_node_count(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function raytrain_args(ctx, argv) bind(c)
      import; type(c_ptr), value :: ctx; type(c_ptr), intent(inout) :: argv
    end function
    integer(c_int) function raytrain_allreduce_mean(ctx, data, n) bind(c)
      import; type(c_ptr), value :: ctx; real(c_float), intent(inout) :: data(*)
      integer(c_size_t), value :: n
    end function
    integer(c_int) function raytrain_allreduce_tensor(ctx, tensor, op) bind(c)
      import; type(c_ptr), value :: ctx; type(raytrain_tensor) :: tensor
      integer(c_int), value :: op
    end function
    integer(c_int) function raytrain_broadcast_tensor(ctx, tensor, root) bind(c)
      import; type(c_ptr), value :: ctx; type(raytrain_tensor) :: tensor
      integer(c_int), value :: root
    end function
    integer(c_int) function raytrain_allgather_tensor(ctx, send, recv) bind(c)
      import; type(c_ptr), value :: ctx; type(raytrain_tensor) :: send, recv
    end function
    integer(c_int) function raytrain_allgather(ctx, send, n_bytes, recv) bind(c)
      import; type(c_ptr), value :: ctx, send; integer(c_size_t), value :: n_bytes
      type(c_ptr), value :: recv
    end function
    integer(c_int) function raytrain_barrier(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function raytrain_set_stream(ctx, device, device_id, stream) bind(c)
      import; type(c_ptr), value :: ctx, stream; integer(c_int), value :: device, device_id
    end function
    integer(c_int) function raytrain_mpi_comm(ctx, comm) bind(c, name="raytrain_mpi_comm_f")
      import; type(c_ptr), value :: ctx; integer(c_int), intent(inout) :: comm
    end function
    type(c_ptr) function raytrain_reducer_data(reducer, i) bind(c)
      import; type(c_ptr), value :: reducer; integer(c_size_t), value :: i
    end function
    integer(c_int) function raytrain_reducer_ready(reducer, i) bind(c)
      import; type(c_ptr), value :: reducer; integer(c_size_t), value :: i
    end function
    integer(c_int) function raytrain_reducer_wait(reducer) bind(c)
      import; type(c_ptr), value :: reducer
    end function
    type(c_ptr) function raytrain_reducer_param(reducer, i) bind(c)
      import; type(c_ptr), value :: reducer; integer(c_size_t), value :: i
    end function
    integer(c_int) function raytrain_reducer_shard(reducer, i, slab, first, n) bind(c)
      import; type(c_ptr), value :: reducer; integer(c_size_t), value :: i
      type(raytrain_slab), intent(inout) :: slab; integer(c_size_t), intent(inout) :: first, n
    end function
    integer(c_int) function raytrain_reducer_gather(reducer) bind(c)
      import; type(c_ptr), value :: reducer
    end function
    subroutine raytrain_reducer_destroy(reducer) bind(c)
      import; type(c_ptr), value :: reducer
    end subroutine
    type(c_ptr) function raytrain_checkpoint_create(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function raytrain_checkpoint_wait(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int64_t) function raytrain_durable_iteration(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function raytrain_last_status(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function raytrain_checkpoint_overlap(ck) bind(c)
      import; type(c_ptr), value :: ck
    end function
    integer(c_int) function raytrain_checkpoint_fence(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    subroutine raytrain_checkpoint_discard(ck) bind(c)
      import; type(c_ptr), value :: ck
    end subroutine
    type(c_ptr) function raytrain_get_checkpoint(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    subroutine raytrain_checkpoint_close(ck) bind(c)
      import; type(c_ptr), value :: ck
    end subroutine
    logical(c_bool) function raytrain_checkpoint_is_verified(ck) bind(c)
      import; type(c_ptr), value :: ck
    end function
    integer(c_int64_t) function raytrain_checkpoint_iteration(ck) bind(c)
      import; type(c_ptr), value :: ck
    end function
    integer(c_int64_t) function raytrain_training_iteration(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function raytrain_set_total(ctx, iterations) bind(c)
      import; type(c_ptr), value :: ctx; integer(c_int64_t), value :: iterations
    end function
    logical(c_bool) function raytrain_should_stop(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    logical(c_bool) function raytrain_should_checkpoint(ctx) bind(c)
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int64_t) function raytrain_random_u64(ctx, s) bind(c)
      import; type(c_ptr), value :: ctx; integer(c_int), value :: s
    end function
    real(c_double) function raytrain_random_uniform(ctx, s) bind(c)
      import; type(c_ptr), value :: ctx; integer(c_int), value :: s
    end function
    real(c_double) function raytrain_random_normal(ctx, s) bind(c)
      import; type(c_ptr), value :: ctx; integer(c_int), value :: s
    end function
    integer(c_int64_t) function raytrain_dataset_rows(ds) bind(c)
      import; type(c_ptr), value :: ds
    end function
    integer(c_int64_t) function raytrain_dataset_epoch(ds) bind(c)
      import; type(c_ptr), value :: ds
    end function
    integer(c_int) function raytrain_dataset_to_device(ds, device, device_id) bind(c)
      import; type(c_ptr), value :: ds; integer(c_int), value :: device, device_id
    end function
    integer(c_int64_t) function raytrain_dataset_padding(ds) bind(c)
      import; type(c_ptr), value :: ds
    end function
    integer(c_int) function raytrain_dataset_set_batch_size(ds, rows) bind(c)
      import; type(c_ptr), value :: ds; integer(c_int64_t), value :: rows
    end function
    integer(c_int) function raytrain_dataset_next(ds, rows) bind(c)
      import; type(c_ptr), value :: ds; integer(c_int64_t), intent(inout) :: rows
    end function
    type(c_ptr) function raytrain_predictor_dataset(p) bind(c)
      import; type(c_ptr), value :: p
    end function
    integer(c_int) function raytrain_predictor_set_batch_size(p, rows) bind(c)
      import; type(c_ptr), value :: p; integer(c_int64_t), value :: rows
    end function
    integer(c_int) function raytrain_predictor_next(p, rows) bind(c)
      import; type(c_ptr), value :: p; integer(c_int64_t), intent(inout) :: rows
    end function
    integer(c_int) function raytrain_main_functions(argc, argv, train_func, predict_func) bind(c)
      import; integer(c_int), value :: argc; type(c_ptr), value :: argv
      type(c_funptr), value :: train_func, predict_func
    end function
  end interface

  ! ---- Functions that have another form as well in raytrain.f90 ----

  interface raytrain_allreduce
    integer(c_int) function raytrain_allreduce(ctx, data, n, dtype, op) bind(c)
      import; type(c_ptr), value :: ctx, data; integer(c_size_t), value :: n
      integer(c_int), value :: dtype, op
    end function
  end interface
  interface raytrain_broadcast
    integer(c_int) function raytrain_broadcast(ctx, data, n_bytes, root) bind(c)
      import; type(c_ptr), value :: ctx, data; integer(c_size_t), value :: n_bytes
      integer(c_int), value :: root
    end function
  end interface
  interface raytrain_report
    integer(c_int) function raytrain_report(ctx, metrics, n_metrics, ck) bind(c)
      import; type(c_ptr), value :: ctx; type(raytrain_metric), intent(in) :: metrics(*)
      integer(c_size_t), value :: n_metrics; type(c_ptr), value :: ck
    end function
  end interface
  interface raytrain_report_rank0
    integer(c_int) function raytrain_report_rank0(ctx, metrics, n_metrics, ck) bind(c)
      import; type(c_ptr), value :: ctx; type(raytrain_metric), intent(in) :: metrics(*)
      integer(c_size_t), value :: n_metrics; type(c_ptr), value :: ck
    end function
  end interface
  interface raytrain_reducer_create
    integer(c_int) function raytrain_reducer_create(ctx, grads, n, bucket_bytes, reducer) bind(c)
      import; type(c_ptr), value :: ctx; type(raytrain_tensor) :: grads(*)
      integer(c_size_t), value :: n, bucket_bytes; type(c_ptr), intent(inout) :: reducer
    end function
  end interface
  interface raytrain_reducer_create_sharded
    integer(c_int) function raytrain_reducer_create_sharded(ctx, grads, n, params, n_params, &
        bucket_bytes, reducer) bind(c)
      import; type(c_ptr), value :: ctx; type(raytrain_tensor) :: grads(*), params(*)
      integer(c_size_t), value :: n, n_params, bucket_bytes
      type(c_ptr), intent(inout) :: reducer
    end function
  end interface
  interface raytrain_main
    integer(c_int) function raytrain_main(argc, argv, train_func) bind(c)
      import; integer(c_int), value :: argc; type(c_ptr), value :: argv
      type(c_funptr), value :: train_func
    end function
  end interface

  ! ---- Functions with strings ----

  interface
    type(c_ptr) function c_status_name(status) bind(c, name="raytrain_status_name")
      import; integer(c_int), value :: status
    end function
    type(c_ptr) function c_version() bind(c, name="raytrain_version")
      import
    end function
    type(c_ptr) function c_dtype_name(dtype) bind(c, name="raytrain_dtype_name")
      import; integer(c_int), value :: dtype
    end function
    type(c_ptr) function c_run_name(ctx) bind(c, name="raytrain_run_name")
      import; type(c_ptr), value :: ctx
    end function
    type(c_ptr) function c_run_dir(ctx) bind(c, name="raytrain_run_dir")
      import; type(c_ptr), value :: ctx
    end function
    type(c_ptr) function c_artifacts_dir(ctx) bind(c, name="raytrain_artifacts_dir")
      import; type(c_ptr), value :: ctx
    end function
    type(c_ptr) function c_last_error(ctx) bind(c, name="raytrain_last_error")
      import; type(c_ptr), value :: ctx
    end function
    integer(c_int) function c_config_int(ctx, key, fallback, value) &
        bind(c, name="raytrain_config_int")
      import; type(c_ptr), value :: ctx; character(c_char), intent(in) :: key(*)
      integer(c_int64_t), value :: fallback; integer(c_int64_t), intent(inout) :: value
    end function
    integer(c_int) function c_config_double(ctx, key, fallback, value) &
        bind(c, name="raytrain_config_double")
      import; type(c_ptr), value :: ctx; character(c_char), intent(in) :: key(*)
      real(c_double), value :: fallback; real(c_double), intent(inout) :: value
    end function
    integer(c_int) function c_config_bool(ctx, key, fallback, value) &
        bind(c, name="raytrain_config_bool")
      import; type(c_ptr), value :: ctx; character(c_char), intent(in) :: key(*)
      logical(c_bool), value :: fallback; logical(c_bool), intent(inout) :: value
    end function
    integer(c_int) function c_config_string(ctx, key, fallback, value) &
        bind(c, name="raytrain_config_string")
      import; type(c_ptr), value :: ctx; character(c_char), intent(in) :: key(*)
      type(c_ptr), value :: fallback; type(c_ptr), intent(inout) :: value
    end function
    integer(c_int) function c_config_int_array(ctx, key, fallback, n, values, n_values) &
        bind(c, name="raytrain_config_int_array")
      import; type(c_ptr), value :: ctx; character(c_char), intent(in) :: key(*)
      integer(c_int64_t), intent(in) :: fallback(*); integer(c_size_t), value :: n
      type(c_ptr), intent(inout) :: values; integer(c_size_t), intent(inout) :: n_values
    end function
    integer(c_int) function c_config_double_array(ctx, key, fallback, n, values, n_values) &
        bind(c, name="raytrain_config_double_array")
      import; type(c_ptr), value :: ctx; character(c_char), intent(in) :: key(*)
      real(c_double), intent(in) :: fallback(*); integer(c_size_t), value :: n
      type(c_ptr), intent(inout) :: values; integer(c_size_t), intent(inout) :: n_values
    end function
    integer(c_int) function c_put(ck, name, tensor) bind(c, name="raytrain_checkpoint_put")
      import; type(c_ptr), value :: ck; character(c_char), intent(in) :: name(*)
      type(raytrain_tensor) :: tensor
    end function
    integer(c_int) function c_put_shard(ck, name, tensor, slab) &
        bind(c, name="raytrain_checkpoint_put_shard")
      import; type(c_ptr), value :: ck; character(c_char), intent(in) :: name(*)
      type(raytrain_tensor) :: tensor; type(raytrain_slab), intent(in) :: slab
    end function
    integer(c_int) function c_put_string(ck, name, value) &
        bind(c, name="raytrain_checkpoint_put_string")
      import; type(c_ptr), value :: ck; character(c_char), intent(in) :: name(*)
      character(c_char), intent(in) :: value(*)
    end function
    integer(c_int) function c_give(ck, name, tensor, slab, release, arg) &
        bind(c, name="raytrain_checkpoint_give")
      import; type(c_ptr), value :: ck, slab, arg; character(c_char), intent(in) :: name(*)
      type(raytrain_tensor) :: tensor; type(c_funptr), value :: release
    end function
    integer(c_int) function c_put_bytes(ck, name, data, n) &
        bind(c, name="raytrain_checkpoint_put_bytes")
      import; type(c_ptr), value :: ck, data; character(c_char), intent(in) :: name(*)
      integer(c_size_t), value :: n
    end function
    integer(c_int) function c_put_file(ck, name, path) &
        bind(c, name="raytrain_checkpoint_put_file")
      import; type(c_ptr), value :: ck; character(c_char), intent(in) :: name(*), path(*)
    end function
    integer(c_int) function c_get_bytes(ck, name, data, n) &
        bind(c, name="raytrain_checkpoint_get_bytes")
      import; type(c_ptr), value :: ck; character(c_char), intent(in) :: name(*)
      type(c_ptr), intent(inout) :: data; integer(c_size_t), intent(inout) :: n
    end function
    integer(c_int) function c_get_file(ck, name, path) &
        bind(c, name="raytrain_checkpoint_get_file")
      import; type(c_ptr), value :: ck; character(c_char), intent(in) :: name(*), path(*)
    end function
    type(c_ptr) function c_open(ctx, path) bind(c, name="raytrain_checkpoint_open")
      import; type(c_ptr), value :: ctx; character(c_char), intent(in), optional :: path(*)
    end function
    type(c_ptr) function c_name(ck, i) bind(c, name="raytrain_checkpoint_name")
      import; type(c_ptr), value :: ck; integer(c_size_t), value :: i
    end function
    integer(c_int) function c_info(ck, name, info) bind(c, name="raytrain_checkpoint_info")
      import; type(c_ptr), value :: ck; character(c_char), intent(in) :: name(*)
      type(raytrain_tensor) :: info
    end function
    integer(c_int) function c_get(ck, name, tensor) bind(c, name="raytrain_checkpoint_get")
      import; type(c_ptr), value :: ck; character(c_char), intent(in) :: name(*)
      type(raytrain_tensor) :: tensor
    end function
    integer(c_int) function c_get_shard(ck, name, tensor, slab) &
        bind(c, name="raytrain_checkpoint_get_shard")
      import; type(c_ptr), value :: ck; character(c_char), intent(in) :: name(*)
      type(raytrain_tensor) :: tensor; type(raytrain_slab), intent(in) :: slab
    end function
    integer(c_int) function c_get_string(ck, name, value) &
        bind(c, name="raytrain_checkpoint_get_string")
      import; type(c_ptr), value :: ck; character(c_char), intent(in) :: name(*)
      type(c_ptr), intent(inout) :: value
    end function
    integer(c_int) function c_set_int64(ctx, name, value) &
        bind(c, name="raytrain_set_metric_int64")
      import; type(c_ptr), value :: ctx; character(c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: value
    end function
    integer(c_int) function c_set_text(ctx, name, text) bind(c, name="raytrain_set_metric_text")
      import; type(c_ptr), value :: ctx; character(c_char), intent(in) :: name(*), text(*)
    end function
    integer(c_int) function c_set_vector(ctx, name, values, n) &
        bind(c, name="raytrain_set_metric_vector")
      import; type(c_ptr), value :: ctx; character(c_char), intent(in) :: name(*)
      real(c_double), intent(in) :: values(*)
      integer(c_size_t), value :: n
    end function
    integer(c_int) function c_metric(ck, name, value) bind(c, name="raytrain_checkpoint_metric")
      import; type(c_ptr), value :: ck; character(c_char), intent(in) :: name(*)
      real(c_double), intent(inout) :: value
    end function
    type(c_ptr) function c_get_dataset_shard(ctx, name) bind(c, name="raytrain_get_dataset_shard")
      import; type(c_ptr), value :: ctx; character(c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_column_info(ds, column, row) &
        bind(c, name="raytrain_dataset_column_info")
      import; type(c_ptr), value :: ds; character(c_char), intent(in) :: column(*)
      type(raytrain_tensor) :: row
    end function
    integer(c_int) function c_column(ds, column, tensor) bind(c, name="raytrain_dataset_column")
      import; type(c_ptr), value :: ds; character(c_char), intent(in) :: column(*)
      type(raytrain_tensor) :: tensor
    end function
    integer(c_int) function c_predictor_output(p, name, dtype, ndim, shape) &
        bind(c, name="raytrain_predictor_output")
      import; type(c_ptr), value :: p; character(c_char), intent(in) :: name(*)
      integer(c_int), value :: dtype, ndim; integer(c_int64_t), intent(in) :: shape(*)
    end function
    integer(c_int) function c_predictor_put(p, name, data) bind(c, name="raytrain_predictor_put")
      import; type(c_ptr), value :: p, data; character(c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_words(ds, column, n) bind(c, name="raytrain_dataset_words")
      import; type(c_ptr), value :: ds; character(c_char), intent(in) :: column(*)
      integer(c_int64_t), intent(inout) :: n
    end function
    type(c_ptr) function c_word(ds, column, code, bytes) bind(c, name="raytrain_dataset_word")
      import; type(c_ptr), value :: ds; character(c_char), intent(in) :: column(*)
      integer(c_int64_t), value :: code; integer(c_int64_t), intent(inout) :: bytes
    end function
    integer(c_int) function c_ragged(ds, column, out) bind(c, name="raytrain_dataset_ragged")
      import; type(c_ptr), value :: ds; character(c_char), intent(in) :: column(*)
      type(raytrain_ragged) :: out
    end function
    integer(c_int64_t) function raytrain_batch_rows(batch) bind(c)
      import; type(c_ptr), value :: batch
    end function
    integer(c_int) function c_batch_column(batch, column, tensor) &
        bind(c, name="raytrain_batch_column")
      import; type(c_ptr), value :: batch; character(c_char), intent(in) :: column(*)
      type(raytrain_tensor) :: tensor
    end function
    integer(c_int) function c_batch_words(batch, column, n) bind(c, name="raytrain_batch_words")
      import; type(c_ptr), value :: batch; character(c_char), intent(in) :: column(*)
      integer(c_int64_t), intent(inout) :: n
    end function
    type(c_ptr) function c_batch_word(batch, column, code, bytes) &
        bind(c, name="raytrain_batch_word")
      import; type(c_ptr), value :: batch; character(c_char), intent(in) :: column(*)
      integer(c_int64_t), value :: code; integer(c_int64_t), intent(inout) :: bytes
    end function
    integer(c_int) function c_batch_ragged(batch, column, out) &
        bind(c, name="raytrain_batch_ragged")
      import; type(c_ptr), value :: batch; character(c_char), intent(in) :: column(*)
      type(raytrain_ragged) :: out
    end function
    integer(c_int) function c_batch_output(batch, name, dtype, ndim, shape, data) &
        bind(c, name="raytrain_batch_output")
      import; type(c_ptr), value :: batch; character(c_char), intent(in) :: name(*)
      integer(c_int), value :: dtype, ndim; integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), intent(inout) :: data
    end function
    integer(c_int) function c_batch_output_words(batch, name, words, n, codes) &
        bind(c, name="raytrain_batch_output_words")
      import; type(c_ptr), value :: batch; character(c_char), intent(in) :: name(*)
      type(c_ptr), intent(in) :: words(*); integer(c_size_t), value :: n
      type(c_ptr), intent(inout) :: codes
    end function
    integer(c_int) function c_batch_put_ragged(batch, name, rows) &
        bind(c, name="raytrain_batch_put_ragged")
      import; type(c_ptr), value :: batch; character(c_char), intent(in) :: name(*)
      type(raytrain_ragged), intent(in) :: rows
    end function
    integer(c_int) function c_batch_remove(batch, column) bind(c, name="raytrain_batch_remove")
      import; type(c_ptr), value :: batch; character(c_char), intent(in) :: column(*)
    end function
    integer(c_int) function c_batch_fail(batch, status, sentence) &
        bind(c, name="raytrain_batch_fail")
      import; type(c_ptr), value :: batch; integer(c_int), value :: status
      character(c_char), intent(in) :: sentence(*)
    end function
    integer(c_size_t) function c_strlen(s) bind(c, name="strlen")
      import; type(c_ptr), value :: s
    end function
    subroutine c_free(p) bind(c, name="free")
      import; type(c_ptr), value :: p
    end subroutine
  end interface
end module
