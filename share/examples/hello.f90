! hello.f90 - the training function of hello.c in Fortran: fit y = 3 x + 1 to noisy samples.
!
!     gfortran -O2 -shared -fPIC -o hello.so \
!         $(pkg-config --variable=fortran_sources raytrain) hello.f90 \
!         $(pkg-config --libs raytrain)
integer(c_int) function train_func(ctx) bind(c) result(rc)
  use raytrain
  implicit none
  type(c_ptr), value :: ctx
  real(c_float), target :: w(2) ! TARGET: checkpoints keep its address
  real(c_float) :: x, noise, error, grad(2)
  real(c_double) :: loss
  integer(c_int64_t) :: epochs
  integer :: step
  type(c_ptr) :: ck

  w = 0
  rc = raytrain_config_int(ctx, "epochs", 10_c_int64_t, epochs)
  if (rc /= RAYTRAIN_OK) return
  ck = raytrain_get_checkpoint(ctx) ! null on a fresh start
  if (c_associated(ck)) rc = raytrain_checkpoint_get(ck, "model/weights", raytrain_view(w))
  if (rc /= RAYTRAIN_OK) return

  do while (raytrain_training_iteration(ctx) < epochs)
    if (raytrain_should_stop(ctx)) exit
    loss = 0
    do step = 1, 100 ! each worker draws its own samples
      x = real(raytrain_random_uniform(ctx, RAYTRAIN_STREAM_RANK), c_float)
      noise = real(0.1d0 * raytrain_random_normal(ctx, RAYTRAIN_STREAM_RANK), c_float)
      error = w(1) * x + w(2) - (3 * x + 1 + noise)
      grad = [error * x, error]
      rc = raytrain_allreduce(ctx, grad, RAYTRAIN_MEAN) ! the same on all workers now
      if (rc /= RAYTRAIN_OK) return
      w = w - 0.2 * grad
      loss = loss + error * error / 100
    end do
    ck = raytrain_checkpoint_create(ctx)
    rc = raytrain_checkpoint_put(ck, "model/weights", raytrain_view(w))
    if (rc == RAYTRAIN_OK) & ! publishes ck
        rc = raytrain_report(ctx, ["loss ", "slope"], [loss, real(w(1), c_double)], ck)
    if (rc /= RAYTRAIN_OK) return
  end do
end function
