! fortran_wrappers.f90 - a training function that uses the module raytrain. The run has two
! workers and a dataset "rows", with a column x of float32.
module checks
  use raytrain
  use mpi
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
contains
  ! Says which check has failed; the training function returns this.
  subroutine require(ok, what, rc)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    integer(c_int), intent(inout) :: rc
    if (ok .or. rc /= RAYTRAIN_OK) return
    write (error_unit, '(2a)') 'failed: ', what
    rc = RAYTRAIN_EFAILED
  end subroutine

  subroutine views(rc)
    integer(c_int), intent(inout) :: rc
    real(c_float), target :: scalar
    real(c_double), target :: cube(4, 3, 2)
    integer(c_int64_t), target :: none(0)
    type(raytrain_tensor) :: t

    t = raytrain_view(scalar)
    call require(t%ndim == 0 .and. t%dtype == RAYTRAIN_FLOAT32, 'view of a scalar', rc)
    t = raytrain_view(cube)
    call require(t%dtype == RAYTRAIN_FLOAT64 .and. all(t%shape(:3) == [2, 3, 4]), 'view', rc)
    call require(all(raytrain_shape(t) == [4, 3, 2]), 'shape', rc)
    t = raytrain_view(none)
    call require(t%ndim == 1 .and. t%shape(1) == 0, 'view of an empty array', rc)
    call require(raytrain_version() == '0.1.0', 'version', rc)
    call require(raytrain_dtype_name(RAYTRAIN_BFLOAT16) == 'bfloat16', 'dtype_name', rc)
    call require(raytrain_status_name(RAYTRAIN_ENOTFOUND) == 'not found', 'status_name', rc)
  end subroutine

  subroutine settings(ctx, rc)
    type(c_ptr), intent(in) :: ctx
    integer(c_int), intent(inout) :: rc
    integer(c_int) :: status
    integer(c_int64_t) :: i
    real(c_double) :: d
    logical :: l
    character(:), allocatable :: s
    integer(c_int64_t), allocatable :: a(:)
    real(c_double), allocatable :: b(:)

    status = raytrain_config_int(ctx, 'count', 1_c_int64_t, i)
    call require(status == 0 .and. i == 7, 'int', rc)
    status = raytrain_config_double(ctx, 'lr', 1d0, d)
    call require(status == 0 .and. d == 0.5d0, 'double', rc)
    status = raytrain_config_bool(ctx, 'flag', .false., l)
    call require(status == 0 .and. l, 'bool', rc)
    status = raytrain_config_string(ctx, 'word', '', s)
    call require(status == 0 .and. s == 'hello', 'string', rc)
    status = raytrain_config_string(ctx, 'none', 'w', s)
    call require(status == 0 .and. s == 'w', 'fallback', rc)
    status = raytrain_config_int_array(ctx, 'none', [3_c_int64_t, 4_c_int64_t], a)
    call require(status == 0 .and. all(a == [3, 4]), 'int_array', rc)
    status = raytrain_config_double_array(ctx, 'none', [1d0], b)
    call require(status == 0 .and. size(b) == 1, 'double_array', rc)
    status = raytrain_config_int(ctx, 'word', 1_c_int64_t, i)
    call require(status == RAYTRAIN_ETYPE, 'last_error', rc)
    call require(index(raytrain_last_error(ctx), 'word') > 0, 'last_error', rc)
    call require(i == 7, 'last_error', rc)
    call require(index(raytrain_run_dir(ctx), '/fortran') > 0, 'run_dir', rc)
  end subroutine

  subroutine collectives(ctx, rc)
    type(c_ptr), intent(in) :: ctx
    integer(c_int), intent(inout) :: rc
    integer(c_int) :: status
    real(c_float), target :: grads(3, 2)
    real(c_double) :: d(2)
    integer(c_int64_t) :: i(1)
    integer, target :: root(4)
    integer :: comm, total, ierr
    type(c_ptr) :: reducer
    type(raytrain_slab) :: slab
    integer(c_size_t) :: first, n

    d = raytrain_rank(ctx)
    i = 21
    grads = real(raytrain_rank(ctx))
    root = raytrain_rank(ctx) + 5
    status = raytrain_allreduce(ctx, d, RAYTRAIN_MAX)
    call require(status == 0 .and. all(d == 1), 'max', rc)
    status = raytrain_allreduce(ctx, i, RAYTRAIN_SUM)
    call require(status == 0 .and. i(1) == 42, 'sum', rc)
    status = raytrain_broadcast(ctx, raytrain_view(root), 0)
    call require(status == 0 .and. all(root == 5), 'broadcast', rc)
    status = raytrain_reducer_create(ctx, [raytrain_view(grads)], 0_c_size_t, reducer)
    call require(status == 0, 'reducer', rc)
    status = raytrain_reducer_ready(reducer, 0_c_size_t)
    call require(status == 0, 'reducer', rc)
    status = raytrain_reducer_wait(reducer)
    call require(status == 0 .and. all(grads == 0.5), 'reducer', rc)
    call raytrain_reducer_destroy(reducer)
    status = raytrain_reducer_create_sharded(ctx, [raytrain_view(grads)], &
        [raytrain_view(grads)], 0_c_size_t, reducer)
    call require(status == 0, 'sharded', rc)
    status = raytrain_reducer_shard(reducer, 0_c_size_t, slab, first, n)
    call require(status == 0 .and. n == 3 .and. first == 3 * raytrain_rank(ctx), 'shard', rc)
    call require(slab%start(1) == raytrain_rank(ctx) .and. slab%count(2) == 3, 'shard', rc)
    grads(:, raytrain_rank(ctx) + 1) = raytrain_rank(ctx) + 8
    status = raytrain_reducer_gather(reducer)
    call require(status == 0 .and. all(grads(1, :) == [8, 9]), 'gather', rc)
    call raytrain_reducer_destroy(reducer)
    status = raytrain_mpi_comm(ctx, comm)
    call require(status == 0, 'mpi_comm', rc)
    call MPI_Allreduce(raytrain_rank(ctx), total, 1, MPI_INTEGER, MPI_SUM, comm, ierr)
    call require(total == 1, 'MPI of Fortran', rc)
  end subroutine

  subroutine rows(ctx, rc)
    type(c_ptr), intent(in) :: ctx
    integer(c_int), intent(inout) :: rc
    integer(c_int) :: status
    type(c_ptr) :: ds
    type(raytrain_tensor) :: t
    real(c_float), pointer :: x(:)
    integer(c_int64_t) :: n, total(1), dims(1)

    ds = raytrain_get_dataset_shard(ctx, 'nowhere')
    call require(.not. c_associated(ds), 'no such dataset', rc)
    ds = raytrain_get_dataset_shard(ctx, 'rows')
    status = raytrain_dataset_set_batch_size(ds, 4_c_int64_t)
    call require(status == 0, 'batch_size', rc)
    total = 0
    do while (raytrain_dataset_next(ds, n) == RAYTRAIN_OK)
      status = raytrain_dataset_column(ds, 'x', t)
      call require(status == 0, 'column', rc)
      dims = raytrain_shape(t)
      call c_f_pointer(t%data, x, dims)
      call require(size(x) == n .and. all(x == 0), 'x', rc)
      total = total + n
    end do
    status = raytrain_allreduce(ctx, total, RAYTRAIN_SUM)
    call require(status == 0 .and. total(1) == 10, 'rows', rc)
  end subroutine

  subroutine save(ctx, rc)
    type(c_ptr), intent(in) :: ctx
    integer(c_int), intent(inout) :: rc
    integer(c_int) :: status
    real(c_double), target :: matrix(3, 2), column(3)
    character(c_char), target :: bytes(3) = ['x', ' ', c_null_char]
    type(c_ptr) :: ck
    integer(c_int64_t) :: rank

    rank = raytrain_rank(ctx)
    matrix = reshape([1d0, 2d0, 3d0, 4d0, 5d0, 6d0], [3, 2])
    column = matrix(:, rank + 1)
    ck = raytrain_checkpoint_create(ctx)
    status = raytrain_checkpoint_put(ck, 'matrix', raytrain_view(matrix))
    call require(status == 0, 'put', rc)
    status = raytrain_checkpoint_put_shard(ck, 'shards', raytrain_tensor_of(c_loc(column), &
        RAYTRAIN_FLOAT64, [3_c_int64_t, 2_c_int64_t]), raytrain_slab_of([0_c_int64_t, rank], &
        [3_c_int64_t, 1_c_int64_t]))
    call require(status == 0, 'put_shard', rc)
    status = raytrain_checkpoint_put_string(ck, 'note', ' Fortran ')
    call require(status == 0, 'put_string', rc)
    status = raytrain_checkpoint_put_bytes(ck, merge('b0', 'b1', rank == 0), c_loc(bytes), &
        3_c_size_t)
    call require(status == 0, 'put_bytes', rc)
    if (rank == 0) status = raytrain_checkpoint_put_file(ck, 'dataset', 'rows.idx')
    call require(status == 0, 'put_file', rc)
    status = raytrain_report(ctx, ['rank', 'two '], [real(rank, c_double), 2d0], ck)
    call require(status == 0, 'report', rc)
    status = raytrain_checkpoint_wait(ctx)
    call require(status == 0, 'wait', rc)
    ck = raytrain_checkpoint_open(ctx)
    call require(c_associated(ck), 'open', rc)
    call require(logical(raytrain_checkpoint_is_verified(ck)), 'is_verified', rc)
    call require(raytrain_checkpoint_name(ck, 0_c_size_t) == 'matrix', 'name', rc)
    call require(raytrain_checkpoint_name(ck, 99_c_size_t) == '', 'no name', rc)
    call raytrain_checkpoint_close(ck)
    ck = raytrain_checkpoint_open(ctx, 'nowhere.h5')
    status = raytrain_last_status(ctx)
    call require(.not. c_associated(ck) .and. status == RAYTRAIN_ENOTFOUND, 'no file', rc)
    call require(raytrain_durable_iteration(ctx) == 1, 'durable_iteration', rc)
    call require(raytrain_set_stream(ctx, RAYTRAIN_HOST, 0_c_int, c_null_ptr) /= RAYTRAIN_OK, &
        'set_stream', rc)
    call require(raytrain_set_total(ctx, 1_c_int64_t) == RAYTRAIN_OK, 'set_total', rc)
    status = raytrain_report(ctx, ['rank'], [1d0, 2d0])
    call require(status == RAYTRAIN_EINVAL, 'names', rc)
  end subroutine

  subroutine restore(ctx, ck, rc)
    type(c_ptr), intent(in) :: ctx, ck
    integer(c_int), intent(inout) :: rc
    integer(c_int) :: status
    real(c_double), target :: matrix(3, 2), row(2)
    real(c_double) :: two
    type(raytrain_tensor) :: t
    character(:), allocatable :: note, bytes

    status = raytrain_checkpoint_get(ck, 'matrix', raytrain_view(matrix))
    call require(status == 0 .and. matrix(3, 1) == 3 .and. matrix(1, 2) == 4, 'get', rc)
    status = raytrain_checkpoint_info(ck, 'shards', t)
    call require(status == 0 .and. all(raytrain_shape(t) == [3, 2]), 'info', rc)
    t%data = c_loc(row)
    status = raytrain_checkpoint_get_shard(ck, 'shards', t, raytrain_slab_of([1_c_int64_t, &
        0_c_int64_t], [1_c_int64_t, 2_c_int64_t]))
    call require(status == 0 .and. all(row == [2, 5]), 'get_shard', rc)
    status = raytrain_checkpoint_get_string(ck, 'note', note)
    call require(status == 0 .and. note == ' Fortran ', 'get_string', rc)
    status = raytrain_checkpoint_get_bytes(ck, 'b1', bytes)
    call require(status == 0 .and. bytes == 'x ' // c_null_char, 'get_bytes', rc)
    status = RAYTRAIN_OK
    if (raytrain_rank(ctx) == 0) &
        status = raytrain_checkpoint_get_file(ck, 'dataset', 'restored_f.idx')
    call require(status == 0, 'get_file', rc)
    status = raytrain_report_rank0(ctx, ['x'], [1d0])
    call require(status == 0, 'report_rank0', rc)
    status = raytrain_checkpoint_metric(ck, 'two', two)
    call require(status == 0 .and. two == 2, 'metric', rc)
    status = raytrain_checkpoint_get(ck, 'absent', raytrain_view(matrix))
    call require(status == RAYTRAIN_ENOTFOUND, 'absent', rc)
    call require(index(raytrain_last_error(ctx), 'absent') > 0, 'absent', rc)
  end subroutine
end module

integer(c_int) function train_func(ctx) bind(c) result(rc)
  use checks
  implicit none
  type(c_ptr), value :: ctx
  type(c_ptr) :: ck

  rc = RAYTRAIN_OK
  ck = raytrain_get_checkpoint(ctx)
  if (c_associated(ck)) then
    call restore(ctx, ck, rc)
  else
    call views(rc)
    call settings(ctx, rc)
    call collectives(ctx, rc)
    call rows(ctx, rc)
    call save(ctx, rc)
  end if
end function
