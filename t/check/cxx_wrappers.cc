/*
 * cxx_wrappers.cc - a training function that uses everything in raytrain.hpp. The run has
 * a dataset "rows", with a column x of float32.
 */
#include <raytrain.hpp>

#include <cstring>

#define REQUIRE(condition)                                                             \
    do {                                                                               \
        if (!(condition))                                                              \
            throw std::logic_error(#condition);                                        \
    } while (0)

/* Does f throw a raytrain::error of this status, with a sentence that has the word? */
template <class F> static bool fails(int status, const char *word, F f)
{
    try {
        f();
    } catch (const raytrain::error &e) {
        return e.status() == status && std::strstr(e.what(), word);
    }
    return false;
}

static bool is_no_shape(std::vector<double> &v, const raytrain::tensor::dims &dims)
{
    try {
        raytrain::tensor view(v, dims);
    } catch (const std::invalid_argument &) {
        return true;
    }
    return false;
}

static void element_types()
{
    REQUIRE(raytrain::dtype_of<float>() == RAYTRAIN_FLOAT32);
    REQUIRE(raytrain::dtype_of<double>() == RAYTRAIN_FLOAT64);
    REQUIRE(raytrain::dtype_of<int8_t>() == RAYTRAIN_INT8);
    REQUIRE(raytrain::dtype_of<int16_t>() == RAYTRAIN_INT16);
    REQUIRE(raytrain::dtype_of<int32_t>() == RAYTRAIN_INT32);
    REQUIRE(raytrain::dtype_of<int64_t>() == RAYTRAIN_INT64);
    REQUIRE(raytrain::dtype_of<long long>() == RAYTRAIN_INT64);
    REQUIRE(raytrain::dtype_of<uint8_t>() == RAYTRAIN_UINT8);
    REQUIRE(raytrain::dtype_of<uint16_t>() == RAYTRAIN_UINT16);
    REQUIRE(raytrain::dtype_of<uint32_t>() == RAYTRAIN_UINT32);
    REQUIRE(raytrain::dtype_of<uint64_t>() == RAYTRAIN_UINT64);
}

static void settings(raytrain::context ctx)
{
    REQUIRE(ctx.config("count", 1) == 7 && ctx.config("none", 1) == 1);
    REQUIRE(ctx.config("lr", 1.0) == 0.5 && ctx.config("none", 2.5) == 2.5);
    REQUIRE(ctx.config("word", "") == "hello" && ctx.config("none", "w") == "w");
    REQUIRE(ctx.config("flag", false) && !ctx.config("none", false));
    REQUIRE(fails(RAYTRAIN_ETYPE, "word", [=] { ctx.config("word", 1); }));
}

static void collectives(raytrain::context ctx)
{
    const int size = ctx.world_size();
    std::vector<double> v(3, ctx.rank());
    std::vector<int32_t> w(2, ctx.rank() + 5);
    std::vector<float> a(4, 1.0f), b(2, 2.0f);

    ctx.allreduce(v, RAYTRAIN_SUM);
    REQUIRE(v[2] == size * (size - 1) / 2);
    ctx.broadcast(w, 0);
    REQUIRE(w[1] == 5);
    ctx.barrier();

    raytrain::reducer mean(ctx, {a, {b, {1, 2}}, {static_cast<float *>(nullptr), {3}}});
    a[0] = ctx.rank();
    for (size_t i = 0; i < 3; i++)
        mean.ready(i);
    mean.wait();
    REQUIRE(a[0] == (size - 1) / 2.0f && b[1] == 2);
    REQUIRE(mean.data(2) && fails(RAYTRAIN_EINVAL, "", [&] { mean.ready(9); }));
}

static uint64_t count_rows(raytrain::context ctx)
{
    raytrain::dataset rows(ctx, "rows", 4);
    uint64_t n = 0;

    while (rows.next()) {
        raytrain::tensor x = rows.column("x");
        REQUIRE(x.dtype == RAYTRAIN_FLOAT32 && x.shape[0] == rows.rows());
        n += rows.rows();
    }
    REQUIRE(raytrain_dataset_epoch(rows) == 1);
    REQUIRE(fails(RAYTRAIN_ENOTFOUND, "nowhere",
                  [=] { raytrain::dataset(ctx, "nowhere", 4); }));
    return n;
}

static void save(raytrain::context ctx, std::vector<double> &matrix)
{
    const uint64_t rank = ctx.rank(), size = ctx.world_size();
    raytrain::checkpoint ck = ctx.create_checkpoint(), unused = ctx.create_checkpoint();

    unused.put("matrix", matrix); /* discarded */
    ck.put("matrix", {matrix, {2, 3}});
    ck.put_shard("shard", {&matrix[rank], {size}}, {{rank}, {1}});
    ck.put_string("note", "written in C++");
    ck.put_bytes("rank-" + std::to_string(rank), "bytes", 5);
    if (rank == 0)
        ck.put_file("dataset", "rows.idx");
    ck.give("given", std::vector<float>(6, 1.5f), {3, 2});
    REQUIRE(fails(RAYTRAIN_EINVAL, "", [&] { ck.put("..", matrix); }));
    REQUIRE(is_no_shape(matrix, {2, 4}) &&
            is_no_shape(matrix, std::vector<uint64_t>(9, 1)));
    ctx.report({{"rank", double(ctx.rank())}}, std::move(ck));
    REQUIRE(!ck);
    ctx.wait();
    REQUIRE(raytrain_durable_iteration(ctx) == 1);
    REQUIRE(raytrain_set_total(ctx, 1) == RAYTRAIN_OK);
    REQUIRE(raytrain_set_total(ctx, -1) == RAYTRAIN_EINVAL);
    REQUIRE(fails(RAYTRAIN_EINVAL, "no streams",
                  [&] { ctx.set_stream(RAYTRAIN_HOST, 0, nullptr); }));
    raytrain::checkpoint best = ctx.open_checkpoint(raytrain_run_dir(ctx));
    REQUIRE(best.is_verified() && best.get_string("note") == "written in C++");
    REQUIRE(fails(RAYTRAIN_ENOTFOUND, "nowhere",
                  [=] { ctx.open_checkpoint("nowhere.h5"); }));
}

static void restore(const raytrain::checkpoint &from, std::vector<double> &matrix)
{
    double second = 0;

    from.get("matrix", {matrix, {2, 3}});
    from.get_shard("shard", {&second, {2}}, {{1}, {1}});
    REQUIRE(matrix[5] == 6 && second == 2);
    REQUIRE(from.get_string("note") == "written in C++");
    REQUIRE(from.get_bytes("rank-1") == std::vector<char>({'b', 'y', 't', 'e', 's'}));
    std::vector<float> given(6);
    from.get("given", {given, {3, 2}});
    REQUIRE(given[5] == 1.5f);
    REQUIRE(raytrain_checkpoint_iteration(from.c_ptr()) == 1);
    REQUIRE(fails(RAYTRAIN_ETYPE, "matrix", [&] { from.get("matrix", matrix); }));
    REQUIRE(fails(RAYTRAIN_ENOTFOUND, "absent", [&] { from.get("absent", matrix); }));
}

static void train(raytrain::context ctx)
{
    std::vector<double> matrix = {1, 2, 3, 4, 5, 6};

    element_types();
    settings(ctx);
    collectives(ctx);
    if (raytrain::checkpoint from = ctx.get_checkpoint()) {
        std::vector<double> restored(6);
        restore(from, restored);
        if (ctx.rank() == 0)
            from.get_file("dataset", "restored.idx");
        ctx.report_rank0({{"rank", double(ctx.rank())}});
        ctx.config("word", 1); /* throws: ends the run with this sentence */
    }
    REQUIRE(ctx.training_iteration() == 0 && !ctx.should_stop());
    std::vector<int64_t> rows(1, count_rows(ctx));
    ctx.allreduce(rows, RAYTRAIN_SUM);
    REQUIRE(rows[0] == 10 && ctx.should_checkpoint());
    save(ctx, matrix);
}

extern "C" RAYTRAIN_API int train_func(raytrain_context *ctx)
{
    return raytrain::run(ctx, train);
}
