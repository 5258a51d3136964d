! raytrain.f90 - the functions of raytrain.h for Fortran 2008. The manual is raytrain.h and the
! pages of section 3, such as raytrain_report(3); raytrain-mpi(7) has an example. A function has
! the name, the arguments and the result that it has in C, except for these:
!
! Compile.  A .mod file fits one compiler only, so these sources are compiled with the program:
!               gfortran -shared -fPIC -o train.so \
!                   $(pkg-config --variable=fortran_sources raytrain) train.f90 \
!                   $(pkg-config --libs raytrain)
! Strings.  Arguments are character(*), of which trailing blanks are dropped from names; results
!           are character(:), allocatable. Enumerations are integer(c_int) constants.
! Pointers. Contexts, checkpoints, datasets, reducers, predictors and batches are type(c_ptr).
! Tensors.  raytrain_view(a) describes the array a, of real32, real64, int32 or int64 and at most
!           4 dimensions; raytrain_tensor_of() describes any memory. The array needs the attribute
!           TARGET, since the library keeps its address: a checkpoint until the report has
!           returned, a reducer until it is destroyed.
! Shapes.   Fortran stores the first index densely, C and HDF5 the last one. Therefore shapes and
!           slabs are reversed on their way, as in the Fortran interface of HDF5: a(3, 4) is
!           stored without a copy, h5dump and C show it as (4, 3), and it is read back as a(3, 4).
!           This holds for raytrain_view(), raytrain_tensor_of(), raytrain_slab_of(), whose start
!           counts from 0, and raytrain_shape(); the members of the types are as in C.
! Data.     raytrain_allreduce(ctx, a, op) reduces an array of real32, real64 or int64, and
!           raytrain_broadcast(ctx, raytrain_view(a), root) copies one.
! Report.   raytrain_report(ctx, names, values, ck): an array of names, one of values, and
!           optionally a checkpoint; RAYTRAIN_EINVAL if there are more names than values, or fewer.
module raytrain
  use raytrain_c
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private :: int32, int64, real32, real64

  interface raytrain_allreduce
    procedure :: allreduce_tensor, allreduce_real32, allreduce_real64, allreduce_int64
  end interface
  interface raytrain_broadcast
    procedure :: broadcast_tensor
  end interface
  interface raytrain_report
    procedure :: report_values
  end interface
  interface raytrain_report_rank0
    procedure :: report_values_rank0
  end interface
  interface raytrain_reducer_create
    procedure :: reducer_create_of
  end interface
  interface raytrain_reducer_create_sharded
    procedure :: reducer_create_sharded_of
  end interface
  interface raytrain_main
    procedure :: main_of
  end interface
  interface raytrain_view
    procedure :: real32_0, real32_1, real32_2, real32_3, real32_4, &
        real64_0, real64_1, real64_2, real64_3, real64_4, &
        int32_0, int32_1, int32_2, int32_3, int32_4, &
        int64_0, int64_1, int64_2, int64_3, int64_4
  end interface

  private :: real32_0, real32_1, real32_2, real32_3, real32_4, &
      real64_0, real64_1, real64_2, real64_3, real64_4, &
      int32_0, int32_1, int32_2, int32_3, int32_4, &
      int64_0, int64_1, int64_2, int64_3, int64_4
  private :: allreduce_tensor, allreduce_real32, allreduce_real64, allreduce_int64
  private :: broadcast_tensor, report_values, report_values_rank0, reducer_create_of, main_of
  private :: reducer_create_sharded_of
  private :: prepare_report, elements, string_of
  private :: c_status_name, c_version, c_dtype_name, c_run_name, c_run_dir, c_artifacts_dir
  private :: c_last_error, c_config_int, c_config_double, c_config_bool, c_config_string
  private :: c_config_int_array, c_config_double_array, c_put, c_put_shard, c_put_string
  private :: c_open, c_name
  private :: c_give, c_put_bytes, c_put_file, c_get_bytes, c_get_file
  private :: c_info, c_get, c_get_shard, c_get_string, c_metric, c_get_dataset_shard
  private :: c_column_info, c_column, c_words, c_word, c_ragged, c_strlen, c_free
  private :: c_predictor_output, c_predictor_put
  private :: c_batch_column, c_batch_words, c_batch_word, c_batch_ragged, c_batch_output
  private :: c_batch_output_words, c_batch_put_ragged, c_batch_remove, c_batch_fail

contains

  ! ---- Tensors ----

  ! A tensor of the Fortran shape dims at data.
  function raytrain_tensor_of(data, dtype, dims) result(t)
    type(c_ptr), value :: data
    integer(c_int), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: dims(:)
    type(raytrain_tensor) :: t

    t%data = data
    t%dtype = dtype
    t%ndim = size(dims)
    t%shape(:t%ndim) = dims(t%ndim:1:-1)
  end function

  ! The Fortran shape of a tensor.
  function raytrain_shape(t) result(dims)
    type(raytrain_tensor), intent(in) :: t
    integer(c_int64_t) :: dims(t%ndim)

    dims = t%shape(t%ndim:1:-1)
  end function

  ! count(i) elements from index start(i) on, which counts from 0, along each axis.
  function raytrain_slab_of(start, count) result(slab)
    integer(c_int64_t), intent(in) :: start(:), count(:)
    type(raytrain_slab) :: slab

    slab%start(:size(start)) = start(size(start):1:-1)
    slab%count(:size(count)) = count(size(count):1:-1)
  end function

  function real32_0(a) result(t)
    real(real32), pointer, intent(in) :: a
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_FLOAT32, shape(a, int64))
  end function
  function real32_1(a) result(t)
    real(real32), pointer, contiguous, intent(in) :: a(:)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_FLOAT32, shape(a, int64))
  end function
  function real32_2(a) result(t)
    real(real32), pointer, contiguous, intent(in) :: a(:, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_FLOAT32, shape(a, int64))
  end function
  function real32_3(a) result(t)
    real(real32), pointer, contiguous, intent(in) :: a(:, :, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_FLOAT32, shape(a, int64))
  end function
  function real32_4(a) result(t)
    real(real32), pointer, contiguous, intent(in) :: a(:, :, :, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_FLOAT32, shape(a, int64))
  end function
  function real64_0(a) result(t)
    real(real64), pointer, intent(in) :: a
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_FLOAT64, shape(a, int64))
  end function
  function real64_1(a) result(t)
    real(real64), pointer, contiguous, intent(in) :: a(:)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_FLOAT64, shape(a, int64))
  end function
  function real64_2(a) result(t)
    real(real64), pointer, contiguous, intent(in) :: a(:, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_FLOAT64, shape(a, int64))
  end function
  function real64_3(a) result(t)
    real(real64), pointer, contiguous, intent(in) :: a(:, :, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_FLOAT64, shape(a, int64))
  end function
  function real64_4(a) result(t)
    real(real64), pointer, contiguous, intent(in) :: a(:, :, :, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_FLOAT64, shape(a, int64))
  end function
  function int32_0(a) result(t)
    integer(int32), pointer, intent(in) :: a
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_INT32, shape(a, int64))
  end function
  function int32_1(a) result(t)
    integer(int32), pointer, contiguous, intent(in) :: a(:)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_INT32, shape(a, int64))
  end function
  function int32_2(a) result(t)
    integer(int32), pointer, contiguous, intent(in) :: a(:, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_INT32, shape(a, int64))
  end function
  function int32_3(a) result(t)
    integer(int32), pointer, contiguous, intent(in) :: a(:, :, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_INT32, shape(a, int64))
  end function
  function int32_4(a) result(t)
    integer(int32), pointer, contiguous, intent(in) :: a(:, :, :, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_INT32, shape(a, int64))
  end function
  function int64_0(a) result(t)
    integer(int64), pointer, intent(in) :: a
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_INT64, shape(a, int64))
  end function
  function int64_1(a) result(t)
    integer(int64), pointer, contiguous, intent(in) :: a(:)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_INT64, shape(a, int64))
  end function
  function int64_2(a) result(t)
    integer(int64), pointer, contiguous, intent(in) :: a(:, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_INT64, shape(a, int64))
  end function
  function int64_3(a) result(t)
    integer(int64), pointer, contiguous, intent(in) :: a(:, :, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_INT64, shape(a, int64))
  end function
  function int64_4(a) result(t)
    integer(int64), pointer, contiguous, intent(in) :: a(:, :, :, :)
    type(raytrain_tensor) :: t
    t = raytrain_tensor_of(c_loc(a), RAYTRAIN_INT64, shape(a, int64))
  end function

  ! ---- Communication ----

  integer(c_int) function allreduce_tensor(ctx, tensor, op) result(rc)
    type(c_ptr), value :: ctx
    type(raytrain_tensor) :: tensor
    integer(c_int), intent(in) :: op
    rc = raytrain_allreduce(ctx, tensor%data, elements(tensor), tensor%dtype, op)
  end function

  integer(c_int) function allreduce_real32(ctx, a, op) result(rc)
    type(c_ptr), value :: ctx
    real(real32), contiguous, target, intent(inout) :: a(:)
    integer(c_int), intent(in) :: op
    rc = raytrain_allreduce(ctx, c_loc(a), size(a, kind=c_size_t), RAYTRAIN_FLOAT32, op)
  end function

  integer(c_int) function allreduce_real64(ctx, a, op) result(rc)
    type(c_ptr), value :: ctx
    real(real64), contiguous, target, intent(inout) :: a(:)
    integer(c_int), intent(in) :: op
    rc = raytrain_allreduce(ctx, c_loc(a), size(a, kind=c_size_t), RAYTRAIN_FLOAT64, op)
  end function

  integer(c_int) function allreduce_int64(ctx, a, op) result(rc)
    type(c_ptr), value :: ctx
    integer(int64), contiguous, target, intent(inout) :: a(:)
    integer(c_int), intent(in) :: op
    rc = raytrain_allreduce(ctx, c_loc(a), size(a, kind=c_size_t), RAYTRAIN_INT64, op)
  end function

  integer(c_int) function broadcast_tensor(ctx, tensor, root) result(rc)
    type(c_ptr), value :: ctx
    type(raytrain_tensor) :: tensor
    integer(c_int), intent(in) :: root
    rc = raytrain_broadcast(ctx, tensor%data, &
        elements(tensor) * raytrain_dtype_size(tensor%dtype), root)
  end function

  integer(c_size_t) function elements(t)
    type(raytrain_tensor), intent(in) :: t
    elements = product(t%shape(:t%ndim))
  end function

  integer(c_int) function reducer_create_of(ctx, grads, bucket_bytes, reducer) result(rc)
    type(c_ptr), value :: ctx
    type(raytrain_tensor) :: grads(:)
    integer(c_size_t), intent(in) :: bucket_bytes
    type(c_ptr), intent(inout) :: reducer
    rc = raytrain_reducer_create(ctx, grads, size(grads, kind=c_size_t), bucket_bytes, reducer)
  end function

  integer(c_int) function reducer_create_sharded_of(ctx, grads, params, bucket_bytes, reducer) &
      result(rc)
    type(c_ptr), value :: ctx
    type(raytrain_tensor) :: grads(:), params(:)
    integer(c_size_t), intent(in) :: bucket_bytes
    type(c_ptr), intent(inout) :: reducer
    rc = raytrain_reducer_create_sharded(ctx, grads, size(grads, kind=c_size_t), params, &
        size(params, kind=c_size_t), bucket_bytes, reducer)
  end function

  ! ---- Report ----

  ! The metrics have the addresses of text, which has the names as strings of C.
  subroutine prepare_report(names, values, ck, text, metrics, checkpoint, rc)
    character(*), intent(in) :: names(:)
    real(c_double), intent(in) :: values(:)
    type(c_ptr), intent(in), optional :: ck
    character(*, c_char), target, contiguous, intent(out) :: text(:)
    type(raytrain_metric), intent(out) :: metrics(:)
    type(c_ptr), intent(out) :: checkpoint
    integer(c_int), intent(out) :: rc
    integer :: i

    checkpoint = c_null_ptr
    if (present(ck)) checkpoint = ck
    rc = merge(RAYTRAIN_OK, RAYTRAIN_EINVAL, size(names) == size(values))
    if (rc /= RAYTRAIN_OK) then
      call raytrain_checkpoint_discard(checkpoint)
      return
    end if
    do i = 1, size(names)
      text(i) = trim(names(i)) // c_null_char
      metrics(i) = raytrain_metric(c_loc(text(i)(1:1)), values(i))
    end do
  end subroutine

  integer(c_int) function report_values(ctx, names, values, ck) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: names(:)
    real(c_double), intent(in) :: values(:)
    type(c_ptr), intent(in), optional :: ck
    character(len(names) + 1, c_char), target :: text(size(names))
    type(raytrain_metric) :: metrics(size(names))
    type(c_ptr) :: checkpoint

    call prepare_report(names, values, ck, text, metrics, checkpoint, rc)
    if (rc == RAYTRAIN_OK) &
        rc = raytrain_report(ctx, metrics, size(metrics, kind=c_size_t), checkpoint)
  end function

  integer(c_int) function report_values_rank0(ctx, names, values, ck) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: names(:)
    real(c_double), intent(in) :: values(:)
    type(c_ptr), intent(in), optional :: ck
    character(len(names) + 1, c_char), target :: text(size(names))
    type(raytrain_metric) :: metrics(size(names))
    type(c_ptr) :: checkpoint

    call prepare_report(names, values, ck, text, metrics, checkpoint, rc)
    if (rc == RAYTRAIN_OK) &
        rc = raytrain_report_rank0(ctx, metrics, size(metrics, kind=c_size_t), checkpoint)
  end function

  ! ---- A program instead of a shared object ----

  ! call exit(raytrain_main(train_func)), or stop with it, is the last statement of a program.
  integer(c_int) function main_of(train_func) result(status)
    interface
      integer(c_int) function train_func(ctx) bind(c)
        import; type(c_ptr), value :: ctx
      end function
    end interface
    character(c_char), allocatable, target :: text(:, :)
    type(c_ptr), target :: argv(command_argument_count() + 2)
    integer :: i, k, n, longest

    longest = 0
    do i = 0, command_argument_count()
      call get_command_argument(i, length=n)
      longest = max(longest, n)
    end do
    allocate (text(longest + 1, size(argv)), source=c_null_char)
    argv = c_null_ptr
    do i = 1, size(argv) - 1
      block
        character(longest) :: argument
        call get_command_argument(i - 1, argument, n)
        do k = 1, n
          text(k, i) = argument(k:k)
        end do
      end block
      argv(i) = c_loc(text(1, i))
    end do
    status = raytrain_main(size(argv) - 1, c_loc(argv), c_funloc(train_func))
  end function

  ! ---- Strings from C ----

  function string_of(p) result(s)
    type(c_ptr), value :: p
    character(:), allocatable :: s
    character(c_char), pointer :: bytes(:)
    integer :: i

    s = ''
    if (.not. c_associated(p)) return
    call c_f_pointer(p, bytes, [c_strlen(p)])
    s = repeat(' ', size(bytes))
    do i = 1, size(bytes)
      s(i:i) = bytes(i)
    end do
  end function

  function raytrain_status_name(status) result(s)
    integer(c_int), intent(in) :: status
    character(:), allocatable :: s
    s = string_of(c_status_name(status))
  end function

  function raytrain_version() result(s)
    character(:), allocatable :: s
    s = string_of(c_version())
  end function

  function raytrain_dtype_name(dtype) result(s)
    integer(c_int), intent(in) :: dtype
    character(:), allocatable :: s
    s = string_of(c_dtype_name(dtype))
  end function

  function raytrain_run_name(ctx) result(s)
    type(c_ptr), value :: ctx
    character(:), allocatable :: s
    s = string_of(c_run_name(ctx))
  end function

  function raytrain_run_dir(ctx) result(s)
    type(c_ptr), value :: ctx
    character(:), allocatable :: s
    s = string_of(c_run_dir(ctx))
  end function

  function raytrain_artifacts_dir(ctx) result(s)
    type(c_ptr), value :: ctx
    character(:), allocatable :: s
    s = string_of(c_artifacts_dir(ctx))
  end function

  function raytrain_last_error(ctx) result(s)
    type(c_ptr), value :: ctx
    character(:), allocatable :: s
    s = string_of(c_last_error(ctx))
  end function

  ! ---- train_loop_config ----

  integer(c_int) function raytrain_config_int(ctx, key, fallback, value) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: key
    integer(c_int64_t), intent(in) :: fallback
    integer(c_int64_t), intent(inout) :: value
    rc = c_config_int(ctx, trim(key) // c_null_char, fallback, value)
  end function

  integer(c_int) function raytrain_config_double(ctx, key, fallback, value) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: key
    real(c_double), intent(in) :: fallback
    real(c_double), intent(inout) :: value
    rc = c_config_double(ctx, trim(key) // c_null_char, fallback, value)
  end function

  integer(c_int) function raytrain_config_bool(ctx, key, fallback, value) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: key
    logical, intent(in) :: fallback
    logical, intent(inout) :: value
    logical(c_bool) :: found
    rc = c_config_bool(ctx, trim(key) // c_null_char, logical(fallback, c_bool), found)
    if (rc == RAYTRAIN_OK) value = found
  end function

  integer(c_int) function raytrain_config_string(ctx, key, fallback, value) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: key, fallback
    character(:), allocatable, intent(inout) :: value
    type(c_ptr) :: found
    rc = c_config_string(ctx, trim(key) // c_null_char, c_null_ptr, found)
    if (rc /= RAYTRAIN_OK) return
    value = fallback
    if (c_associated(found)) value = string_of(found)
  end function

  integer(c_int) function raytrain_config_int_array(ctx, key, fallback, values) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: key
    integer(c_int64_t), intent(in) :: fallback(:)
    integer(c_int64_t), allocatable, intent(inout) :: values(:)
    integer(c_int64_t), pointer :: found(:)
    integer(c_size_t) :: n
    type(c_ptr) :: p
    rc = c_config_int_array(ctx, trim(key) // c_null_char, fallback, &
        size(fallback, kind=c_size_t), p, n)
    if (rc /= RAYTRAIN_OK) return
    call c_f_pointer(p, found, [n])
    values = found
  end function

  integer(c_int) function raytrain_config_double_array(ctx, key, fallback, values) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: key
    real(c_double), intent(in) :: fallback(:)
    real(c_double), allocatable, intent(inout) :: values(:)
    real(c_double), pointer :: found(:)
    integer(c_size_t) :: n
    type(c_ptr) :: p
    rc = c_config_double_array(ctx, trim(key) // c_null_char, fallback, &
        size(fallback, kind=c_size_t), p, n)
    if (rc /= RAYTRAIN_OK) return
    call c_f_pointer(p, found, [n])
    values = found
  end function

  ! ---- Checkpoints ----

  integer(c_int) function raytrain_checkpoint_put(ck, name, tensor) result(rc)
    type(c_ptr), value :: ck
    character(*), intent(in) :: name
    type(raytrain_tensor) :: tensor
    rc = c_put(ck, trim(name) // c_null_char, tensor)
  end function

  integer(c_int) function raytrain_checkpoint_put_shard(ck, name, tensor, slab) result(rc)
    type(c_ptr), value :: ck
    character(*), intent(in) :: name
    type(raytrain_tensor) :: tensor
    type(raytrain_slab), intent(in) :: slab
    rc = c_put_shard(ck, trim(name) // c_null_char, tensor, slab)
  end function

  integer(c_int) function raytrain_checkpoint_put_string(ck, name, value) result(rc)
    type(c_ptr), value :: ck
    character(*), intent(in) :: name, value
    rc = c_put_string(ck, trim(name) // c_null_char, value // c_null_char)
  end function

  integer(c_int) function raytrain_checkpoint_give(ck, name, tensor, slab, release, arg) result(rc)
    type(c_ptr), value :: ck, slab, arg
    character(*), intent(in) :: name
    type(raytrain_tensor) :: tensor
    type(c_funptr), value :: release
    rc = c_give(ck, trim(name) // c_null_char, tensor, slab, release, arg)
  end function

  integer(c_int) function raytrain_checkpoint_put_bytes(ck, name, data, n) result(rc)
    type(c_ptr), value :: ck, data
    character(*), intent(in) :: name
    integer(c_size_t), value :: n
    rc = c_put_bytes(ck, trim(name) // c_null_char, data, n)
  end function

  integer(c_int) function raytrain_checkpoint_put_file(ck, name, path) result(rc)
    type(c_ptr), value :: ck
    character(*), intent(in) :: name, path
    rc = c_put_file(ck, trim(name) // c_null_char, trim(path) // c_null_char)
  end function

  ! The best checkpoint of this run if there is no path.
  type(c_ptr) function raytrain_checkpoint_open(ctx, path) result(ck)
    type(c_ptr), value :: ctx
    character(*), intent(in), optional :: path
    if (present(path)) then
      ck = c_open(ctx, trim(path) // c_null_char)
    else
      ck = c_open(ctx)
    end if
  end function

  ! Name i, which counts from 0; empty after the last one.
  function raytrain_checkpoint_name(ck, i) result(name)
    type(c_ptr), value :: ck
    integer(c_size_t), value :: i
    character(:), allocatable :: name
    name = string_of(c_name(ck, i))
  end function

  integer(c_int) function raytrain_checkpoint_info(ck, name, info) result(rc)
    type(c_ptr), value :: ck
    character(*), intent(in) :: name
    type(raytrain_tensor) :: info
    rc = c_info(ck, trim(name) // c_null_char, info)
  end function

  integer(c_int) function raytrain_checkpoint_get(ck, name, tensor) result(rc)
    type(c_ptr), value :: ck
    character(*), intent(in) :: name
    type(raytrain_tensor) :: tensor
    rc = c_get(ck, trim(name) // c_null_char, tensor)
  end function

  integer(c_int) function raytrain_checkpoint_get_shard(ck, name, tensor, slab) result(rc)
    type(c_ptr), value :: ck
    character(*), intent(in) :: name
    type(raytrain_tensor) :: tensor
    type(raytrain_slab), intent(in) :: slab
    rc = c_get_shard(ck, trim(name) // c_null_char, tensor, slab)
  end function

  integer(c_int) function raytrain_checkpoint_get_string(ck, name, value) result(rc)
    type(c_ptr), value :: ck
    character(*), intent(in) :: name
    character(:), allocatable, intent(inout) :: value
    type(c_ptr) :: found
    rc = c_get_string(ck, trim(name) // c_null_char, found)
    if (rc /= RAYTRAIN_OK) return
    value = string_of(found)
    call c_free(found)
  end function

  ! The bytes as characters.
  integer(c_int) function raytrain_checkpoint_get_bytes(ck, name, bytes) result(rc)
    type(c_ptr), value :: ck
    character(*), intent(in) :: name
    character(:), allocatable, intent(inout) :: bytes
    character(c_char), pointer :: found(:)
    type(c_ptr) :: p
    integer(c_size_t) :: n, i
    rc = c_get_bytes(ck, trim(name) // c_null_char, p, n)
    if (rc /= RAYTRAIN_OK) return
    call c_f_pointer(p, found, [n])
    if (allocated(bytes)) deallocate (bytes)
    allocate (character(n) :: bytes)
    do i = 1, n
      bytes(i:i) = found(i)
    end do
    call c_free(p)
  end function

  integer(c_int) function raytrain_checkpoint_get_file(ck, name, path) result(rc)
    type(c_ptr), value :: ck
    character(*), intent(in) :: name, path
    rc = c_get_file(ck, trim(name) // c_null_char, trim(path) // c_null_char)
  end function

  integer(c_int) function raytrain_set_metric_int64(ctx, name, value) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in) :: value
    rc = c_set_int64(ctx, trim(name) // c_null_char, value)
  end function

  integer(c_int) function raytrain_set_metric_text(ctx, name, text) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: name, text
    rc = c_set_text(ctx, trim(name) // c_null_char, trim(text) // c_null_char)
  end function

  integer(c_int) function raytrain_set_metric_vector(ctx, name, values) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: name
    real(c_double), intent(in) :: values(:)
    rc = c_set_vector(ctx, trim(name) // c_null_char, values, size(values, kind=c_size_t))
  end function

  integer(c_int) function raytrain_checkpoint_metric(ck, name, value) result(rc)
    type(c_ptr), value :: ck
    character(*), intent(in) :: name
    real(c_double), intent(inout) :: value
    rc = c_metric(ck, trim(name) // c_null_char, value)
  end function

  ! ---- Datasets ----

  type(c_ptr) function raytrain_get_dataset_shard(ctx, name) result(rc)
    type(c_ptr), value :: ctx
    character(*), intent(in) :: name
    rc = c_get_dataset_shard(ctx, trim(name) // c_null_char)
  end function

  integer(c_int) function raytrain_dataset_column_info(ds, column, row) result(rc)
    type(c_ptr), value :: ds
    character(*), intent(in) :: column
    type(raytrain_tensor) :: row
    rc = c_column_info(ds, trim(column) // c_null_char, row)
  end function

  integer(c_int) function raytrain_dataset_column(ds, column, tensor) result(rc)
    type(c_ptr), value :: ds
    character(*), intent(in) :: column
    type(raytrain_tensor) :: tensor
    rc = c_column(ds, trim(column) // c_null_char, tensor)
  end function

  integer(c_int) function raytrain_dataset_words(ds, column, n) result(rc)
    type(c_ptr), value :: ds
    character(*), intent(in) :: column
    integer(c_int64_t), intent(inout) :: n
    rc = c_words(ds, trim(column) // c_null_char, n)
  end function

  ! Blank if there is no such word.
  function raytrain_dataset_word(ds, column, code) result(word)
    type(c_ptr), value :: ds
    character(*), intent(in) :: column
    integer(c_int64_t), value :: code
    character(:), allocatable :: word
    integer(c_int64_t) :: bytes
    word = string_of(c_word(ds, trim(column) // c_null_char, code, bytes))
  end function

  integer(c_int) function raytrain_dataset_ragged(ds, column, out) result(rc)
    type(c_ptr), value :: ds
    character(*), intent(in) :: column
    type(raytrain_ragged) :: out
    rc = c_ragged(ds, trim(column) // c_null_char, out)
  end function

  ! ---- Batch mappers ----

  integer(c_int) function raytrain_batch_column(batch, column, tensor) result(rc)
    type(c_ptr), value :: batch
    character(*), intent(in) :: column
    type(raytrain_tensor) :: tensor
    rc = c_batch_column(batch, trim(column) // c_null_char, tensor)
  end function

  integer(c_int) function raytrain_batch_words(batch, column, n) result(rc)
    type(c_ptr), value :: batch
    character(*), intent(in) :: column
    integer(c_int64_t), intent(inout) :: n
    rc = c_batch_words(batch, trim(column) // c_null_char, n)
  end function

  ! Blank if there is no such word.
  function raytrain_batch_word(batch, column, code) result(word)
    type(c_ptr), value :: batch
    character(*), intent(in) :: column
    integer(c_int64_t), value :: code
    character(:), allocatable :: word
    integer(c_int64_t) :: bytes
    word = string_of(c_batch_word(batch, trim(column) // c_null_char, code, bytes))
  end function

  integer(c_int) function raytrain_batch_ragged(batch, column, out) result(rc)
    type(c_ptr), value :: batch
    character(*), intent(in) :: column
    type(raytrain_ragged) :: out
    rc = c_batch_ragged(batch, trim(column) // c_null_char, out)
  end function

  ! dims is the Fortran shape of one row; an empty one is a number.
  integer(c_int) function raytrain_batch_output(batch, name, dtype, dims, data) result(rc)
    type(c_ptr), value :: batch
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: dims(:)
    type(c_ptr), intent(inout) :: data
    rc = c_batch_output(batch, trim(name) // c_null_char, dtype, size(dims), &
        dims(size(dims):1:-1), data)
  end function

  ! Trailing blanks of the words are dropped.
  integer(c_int) function raytrain_batch_output_words(batch, name, words, codes) result(rc)
    type(c_ptr), value :: batch
    character(*), intent(in) :: name, words(:)
    type(c_ptr), intent(inout) :: codes
    character(len(words) + 1), target :: texts(size(words))
    type(c_ptr) :: at(size(words))
    integer :: i
    do i = 1, size(words)
      texts(i) = trim(words(i)) // c_null_char
      at(i) = c_loc(texts(i))
    end do
    rc = c_batch_output_words(batch, trim(name) // c_null_char, at, &
        int(size(words), c_size_t), codes)
  end function

  integer(c_int) function raytrain_batch_put_ragged(batch, name, rows) result(rc)
    type(c_ptr), value :: batch
    character(*), intent(in) :: name
    type(raytrain_ragged), intent(in) :: rows
    rc = c_batch_put_ragged(batch, trim(name) // c_null_char, rows)
  end function

  integer(c_int) function raytrain_batch_remove(batch, column) result(rc)
    type(c_ptr), value :: batch
    character(*), intent(in) :: column
    rc = c_batch_remove(batch, trim(column) // c_null_char)
  end function

  integer(c_int) function raytrain_batch_fail(batch, status, sentence) result(rc)
    type(c_ptr), value :: batch
    integer(c_int), intent(in) :: status
    character(*), intent(in) :: sentence
    rc = c_batch_fail(batch, status, trim(sentence) // c_null_char)
  end function

  ! ---- Predictions ----

  ! dims is the Fortran shape of one row; an empty one is a number.
  integer(c_int) function raytrain_predictor_output(p, name, dtype, dims) result(rc)
    type(c_ptr), value :: p
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: dims(:)
    rc = c_predictor_output(p, trim(name) // c_null_char, dtype, size(dims), &
        dims(size(dims):1:-1))
  end function

  integer(c_int) function raytrain_predictor_put(p, name, data) result(rc)
    type(c_ptr), value :: p, data
    character(*), intent(in) :: name
    rc = c_predictor_put(p, trim(name) // c_null_char, data)
  end function

end module
