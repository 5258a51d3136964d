/*
 * raytrain.hpp - raytrain.h for C++11 and later, with destructors and exceptions. Each
 * function does the same as the function of that name in raytrain.h, which documents
 * it. Functions without a wrapper are called as in C:
 *
 *     ctx.check(raytrain_allgather(ctx, send, n_bytes, recv));
 *
 * No exception may leave the training function. run() catches a raytrain::error and
 * returns its status; for other exceptions, std::terminate() prints them and ends the
 * worker:
 *
 *     extern "C" RAYTRAIN_API int train_func(raytrain_context *ctx)
 *     { return raytrain::run(ctx, [](raytrain::context ctx) { ... }); }
 */
#ifndef RAYTRAIN_HPP
#define RAYTRAIN_HPP

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <raytrain.h>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

// clang-format off: a wrapper takes two lines
namespace raytrain {

typedef const std::string &str;

/* A raytrain_status other than RAYTRAIN_OK; what() is raytrain_last_error(). */
class error : public std::runtime_error {
    int status_;
public:
    error(int rc, str what) : std::runtime_error(what), status_(rc) {}
    int status() const noexcept { return status_; }
};

inline void check(const raytrain_context *ctx, int status)
{ if (status != RAYTRAIN_OK) throw error(status, raytrain_last_error(ctx)); }

/* The element type of T: float, double, or an integer of 1, 2, 4 or 8 bytes. */
template <class T> constexpr raytrain_dtype dtype_of()
{
    static_assert(std::is_arithmetic<T>::value && !std::is_same<T, bool>::value &&
                  sizeof(T) <= 8, "elements are float, double or integers");
    return raytrain_dtype(std::is_floating_point<T>::value
        ? RAYTRAIN_FLOAT32 + int(sizeof(T) / 8)
        : int(std::is_signed<T>::value ? RAYTRAIN_INT8 : RAYTRAIN_UINT8) +
          (sizeof(T) == 8 ? 3 : int(sizeof(T) / 2)));
}

/* A view; for other types, such as RAYTRAIN_BFLOAT16, fill in a raytrain_tensor. */
struct tensor : raytrain_tensor {
    typedef std::vector<uint64_t> dims;
    tensor(const raytrain_tensor &t = raytrain_tensor()) : raytrain_tensor(t) {}
    template <class T> tensor(T *p, const dims &d) : raytrain_tensor()
    {
        if (d.size() > RAYTRAIN_MAX_DIMS)
            throw std::invalid_argument("tensor: too many dimensions");
        data = p, dtype = dtype_of<T>();
        for (uint64_t extent : d)
            shape[ndim++] = extent;
    }
    template <class T> tensor(std::vector<T> &v) : tensor(v.data(), dims{v.size()}) {}
    template <class T> tensor(std::vector<T> &v, const dims &d) : tensor(v.data(), d)
    {
        uint64_t n = 1;
        for (uint64_t extent : d)
            n *= extent;
        if (n != v.size())
            throw std::invalid_argument("tensor: vector and shape differ in size");
    }
};

/* A checkpoint to read, or one to write, which is discarded unless it is moved into a
 * report. */
class checkpoint {
    typedef void (*ending)(raytrain_checkpoint *);
    raytrain_context *ctx_;
    std::unique_ptr<raytrain_checkpoint, ending> ck_;
    template <class F, class... A> void call(F f, str name, A... args) const
    { check(ctx_, f(ck_.get(), name.c_str(), args...)); }
    friend class context;
    static void keep(raytrain_checkpoint *) {} /* ctx owns it */
    checkpoint(raytrain_context *ctx, raytrain_checkpoint *ck, ending end)
        : ctx_(ctx), ck_(ck, end) {}
public:
    checkpoint() : ctx_(nullptr), ck_(nullptr, keep) {}
    explicit operator bool() const { return bool(ck_); }
    raytrain_checkpoint *c_ptr() const { return ck_.get(); }
    bool is_verified() const { return raytrain_checkpoint_is_verified(c_ptr()); }
    raytrain_checkpoint *release() { return ck_.release(); }

    void put(str name, const tensor &t) { call(raytrain_checkpoint_put, name, &t); }
    void put_shard(str name, const tensor &t, const raytrain_slab &s)
    { call(raytrain_checkpoint_put_shard, name, &t, &s); }
    void put_string(str name, str value)
    { call(raytrain_checkpoint_put_string, name, value.c_str()); }
    void put_bytes(str name, const void *data, size_t n)
    { call(raytrain_checkpoint_put_bytes, name, data, n); }
    void put_file(str name, str path)
    { call(raytrain_checkpoint_put_file, name, path.c_str()); }
    void overlap() { check(ctx_, raytrain_checkpoint_overlap(ck_.get())); }
    /* The vector is moved here, and deleted when it has been written. */
    template <class T> void give(str name, std::vector<T> &&v, const tensor::dims &dims)
    {
        typedef std::vector<T> owner;
        std::unique_ptr<owner> own(new owner(std::move(v)));
        tensor t(*own, dims);
        call(raytrain_checkpoint_give, name, &t, nullptr,
             [](void *, void *arg) { delete static_cast<owner *>(arg); }, own.get());
        own.release();
    }

    void get(str name, const tensor &t) const
    { call(raytrain_checkpoint_get, name, &t); }
    void get_shard(str name, const tensor &t, const raytrain_slab &s) const
    { call(raytrain_checkpoint_get_shard, name, &t, &s); }
    std::string get_string(str name) const
    {
        char *value = nullptr;
        call(raytrain_checkpoint_get_string, name, &value);
        return std::unique_ptr<char, void (*)(void *)>(value, std::free).get();
    }
    std::vector<char> get_bytes(str name) const
    {
        void *p = nullptr;
        size_t n = 0;
        call(raytrain_checkpoint_get_bytes, name, &p, &n);
        std::unique_ptr<char, void (*)(void *)> data(static_cast<char *>(p), std::free);
        return std::vector<char>(data.get(), data.get() + n);
    }
    void get_file(str name, str path) const
    { call(raytrain_checkpoint_get_file, name, path.c_str()); }
};

typedef std::initializer_list<raytrain_metric> metrics; /* {{"loss", loss}, ...} */

/* Functions of raytrain.h accept it in place of the raytrain_context. */
class context {
    raytrain_context *c_;
    checkpoint own(raytrain_checkpoint *ck, checkpoint::ending end) const
    {
        check(ck ? RAYTRAIN_OK : raytrain_last_status(c_));
        return checkpoint(c_, ck, end);
    }
    template <class F, class T> T at(F f, str key, T value) const
    { return check(f(c_, key.c_str(), value, &value)), value; }
public:
    context(raytrain_context *c) : c_(c) {}
    operator raytrain_context *() const { return c_; }
    void check(int status) const { raytrain::check(c_, status); }
    int rank() const { return raytrain_rank(c_); }
    int world_size() const { return raytrain_world_size(c_); }
    bool should_stop() const { return raytrain_should_stop(c_); }
    bool should_checkpoint() const { return raytrain_should_checkpoint(c_); }
    int64_t training_iteration() const { return raytrain_training_iteration(c_); }

    /* A value of train_loop_config, or the fallback, which determines its type. */
    int64_t config(str key, int64_t v) const { return at(raytrain_config_int, key, v); }
    int64_t config(str key, int v) const { return config(key, int64_t(v)); }
    double config(str key, double v) const
    { return at(raytrain_config_double, key, v); }
    bool config(str key, bool v) const { return at(raytrain_config_bool, key, v); }
    std::string config(str key, const char *v) const
    { return at(raytrain_config_string, key, v); }
    template <class T> void allreduce(std::vector<T> &v, raytrain_op op) const
    { check(raytrain_allreduce(c_, v.data(), v.size(), dtype_of<T>(), op)); }
    template <class T> void broadcast(std::vector<T> &v, int root) const
    { check(raytrain_broadcast(c_, v.data(), v.size() * sizeof(T), root)); }
    void barrier() const { check(raytrain_barrier(c_)); }

    checkpoint get_checkpoint() const
    { return checkpoint(c_, raytrain_get_checkpoint(c_), checkpoint::keep); }
    checkpoint open_checkpoint(str path) const
    {
        raytrain_checkpoint *ck = raytrain_checkpoint_open(c_, path.c_str());
        return own(ck, raytrain_checkpoint_close);
    }
    checkpoint create_checkpoint() const
    { return own(raytrain_checkpoint_create(c_), raytrain_checkpoint_discard); }
    void fence() const { check(raytrain_checkpoint_fence(c_)); }
    void report(metrics m, checkpoint ck = checkpoint()) const
    { check(raytrain_report(c_, m.begin(), m.size(), ck.release())); }
    void report_rank0(metrics m, checkpoint ck = checkpoint()) const
    { check(raytrain_report_rank0(c_, m.begin(), m.size(), ck.release())); }
    void wait() const { check(raytrain_checkpoint_wait(c_)); }
    void set_stream(raytrain_device d, int id, void *stream) const
    { check(raytrain_set_stream(c_, d, id, stream)); }
};

class reducer {
    context ctx_;
    std::unique_ptr<raytrain_reducer, void (*)(raytrain_reducer *)> r_;
public:
    reducer(context ctx, const std::vector<tensor> &grads, size_t bytes = 0)
        : ctx_(ctx), r_(nullptr, raytrain_reducer_destroy)
    {
        std::vector<raytrain_tensor> g(grads.begin(), grads.end());
        raytrain_reducer *r = nullptr;
        ctx.check(raytrain_reducer_create(ctx, g.data(), g.size(), bytes, &r));
        r_.reset(r);
    }
    void *data(size_t i) const { return raytrain_reducer_data(r_.get(), i); }
    void ready(size_t i) const { ctx_.check(raytrain_reducer_ready(r_.get(), i)); }
    void wait() const { ctx_.check(raytrain_reducer_wait(r_.get())); }
};

/* dataset d(ctx, "train", 64); while (d.next()) ... d.rows() ... d.column("x").data */
class dataset {
    context ctx_;
    raytrain_dataset *ds_;
    uint64_t rows_;
public:
    dataset(context ctx, str name, uint64_t batch)
        : ctx_(ctx), ds_(raytrain_get_dataset_shard(ctx, name.c_str())), rows_(0)
    {
        ctx.check(ds_ ? raytrain_dataset_set_batch_size(ds_, batch)
                      : raytrain_last_status(ctx));
    }
    operator raytrain_dataset *() const { return ds_; }
    void to_device(raytrain_device d, int id) const
    { ctx_.check(raytrain_dataset_to_device(ds_, d, id)); }
    bool next() /* false: the epoch has ended, and another call starts the next one */
    {
        int rc = raytrain_dataset_next(ds_, &rows_);
        return rc == RAYTRAIN_END ? false : (ctx_.check(rc), true);
    }
    uint64_t rows() const { return rows_; }
    uint64_t padding() const { return raytrain_dataset_padding(ds_); }
    tensor column(str name) const
    {
        tensor t;
        ctx_.check(raytrain_dataset_column(ds_, name.c_str(), &t));
        return t;
    }
};

template <class F> int run(raytrain_context *ctx, F train) noexcept
{
    try { train(context(ctx)); } catch (const error &e) { return e.status(); }
    return RAYTRAIN_OK;
}

} /* namespace raytrain */

#endif /* RAYTRAIN_HPP */
