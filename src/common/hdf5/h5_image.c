/*
 * h5_image.c - the sorted pages of an image, and the HDF5 file driver that reads and
 * writes them.
 */
#include "config.h"

#include "hdf5/h5_image.h"

#include <stdlib.h>
#include <string.h>

#include "hdf5/h5.h"

#define PAGE_BYTES 65536u

struct page {
    uint64_t number;
    unsigned char *data;
};

struct h5_image {
    struct page *pages; /* sorted by number */
    size_t n_pages, room;
    haddr_t eoa, eof;
    hid_t driver, file;
};

/* ---- Pages ---- */

/* Index of the first page whose number is not below `number`. */
static size_t page_position(const struct h5_image *image, uint64_t number)
{
    size_t low = 0, high = image->n_pages;

    /* Usually it is the last page or the one after it. */
    if (high > 0 && image->pages[high - 1].number < number)
        return high;
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (image->pages[mid].number < number)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static unsigned char *page_find(const struct h5_image *image, uint64_t number)
{
    size_t i = page_position(image, number);

    if (i < image->n_pages && image->pages[i].number == number)
        return image->pages[i].data;
    return NULL;
}

static unsigned char *page_make(struct h5_image *image, uint64_t number)
{
    size_t i = page_position(image, number);
    unsigned char *data;

    if (i < image->n_pages && image->pages[i].number == number)
        return image->pages[i].data;
    if (image->n_pages == image->room) {
        size_t room = image->room ? 2 * image->room : 64;
        struct page *pages = realloc(image->pages, room * sizeof *pages);

        if (!pages)
            return NULL;
        image->pages = pages;
        image->room = room;
    }
    data = calloc(1, PAGE_BYTES);
    if (!data)
        return NULL;
    memmove(&image->pages[i + 1], &image->pages[i],
            (image->n_pages - i) * sizeof *image->pages);
    image->pages[i] = (struct page){number, data};
    image->n_pages++;
    return data;
}

void h5_image_read(const struct h5_image *image, uint64_t offset, void *buf, size_t n)
{
    unsigned char *to = buf;

    while (n > 0) {
        size_t at = offset % PAGE_BYTES;
        size_t k = PAGE_BYTES - at < n ? PAGE_BYTES - at : n;
        const unsigned char *page = page_find(image, offset / PAGE_BYTES);

        if (page)
            memcpy(to, page + at, k);
        else
            memset(to, 0, k);
        to += k;
        offset += k;
        n -= k;
    }
}

int h5_image_write(struct h5_image *image, uint64_t offset, const void *buf, size_t n)
{
    const unsigned char *from = buf;

    if (offset + n > image->eof)
        image->eof = offset + n;
    while (n > 0) {
        size_t at = offset % PAGE_BYTES;
        size_t k = PAGE_BYTES - at < n ? PAGE_BYTES - at : n;
        unsigned char *page = page_make(image, offset / PAGE_BYTES);

        if (!page)
            return -1;
        memcpy(page + at, from, k);
        from += k;
        offset += k;
        n -= k;
    }
    return 0;
}

bool h5_image_next_page(const struct h5_image *image, size_t *cursor, uint64_t *offset,
                        const void **data, size_t *n)
{
    if (*cursor >= image->n_pages)
        return false;
    *offset = image->pages[*cursor].number * PAGE_BYTES;
    *data = image->pages[*cursor].data;
    *n = PAGE_BYTES;
    (*cursor)++;
    return true;
}

uint64_t h5_image_length(const struct h5_image *image)
{
    return image->eoa;
}

/* ---- The HDF5 file driver ---- */

struct open_file {
    H5FD_t base; /* HDF5's part, which must be the first */
    struct h5_image *image;
};

/* What H5Pset_driver passes to driver_open. */
struct open_info {
    struct h5_image *image;
};

static struct h5_image *image_of(const H5FD_t *file)
{
    return ((const struct open_file *)(const void *)file)->image;
}

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t fapl,
                           haddr_t maxaddr)
{
    const struct open_info *info = H5Pget_driver_info(fapl);
    struct open_file *file;

    (void)name;
    (void)flags;
    (void)maxaddr;
    if (!info)
        return NULL;
    file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->image = info->image;
    return &file->base;
}

static herr_t driver_close(H5FD_t *file)
{
    free(file);
    return 0;
}

static herr_t driver_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return image_of(file)->eoa;
}

static herr_t driver_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr)
{
    (void)type;
    image_of(file)->eoa = addr;
    return 0;
}

static haddr_t driver_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return image_of(file)->eof;
}

static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr,
                          size_t size, void *buf)
{
    (void)type;
    (void)dxpl;
    h5_image_read(image_of(file), addr, buf, size);
    return 0;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr,
                           size_t size, const void *buf)
{
    (void)type;
    (void)dxpl;
    return h5_image_write(image_of(file), addr, buf, size);
}

static herr_t driver_truncate(H5FD_t *file, hid_t dxpl, hbool_t closing)
{
    (void)dxpl;
    (void)closing;
    image_of(file)->eof = image_of(file)->eoa;
    return 0;
}

static const H5FD_class_t DRIVER = {
#ifdef H5FD_CLASS_VERSION /* since HDF5 1.14 */
    .version = H5FD_CLASS_VERSION,
    .value = H5_VFD_RESERVED, /* the first number not reserved for HDF5's own drivers */
#endif
    .name = "raytrain_image",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct open_info),
    .open = driver_open,
    .close = driver_close,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* ---- Create, close, destroy ---- */

/* The access property list of a file in this image; registers the driver. */
static hid_t file_access(struct h5_image *image)
{
    struct open_info info = {image};
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

    image->driver = H5FDregister(&DRIVER);
    if (fapl < 0 || image->driver < 0 ||
        H5Pset_driver(fapl, image->driver, &info) < 0 ||
        H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_V110) < 0 ||
        h5_cache_metadata(fapl) < 0 ||
        H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG) < 0) {
        if (fapl >= 0)
            H5Pclose(fapl);
        return -1;
    }
    return fapl;
}

static hid_t image_file_create(struct h5_image *image,
                               const struct h5_image_options *opt)
{
    hid_t fapl = file_access(image);
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);
    hid_t file = -1;

    if (fapl >= 0 && fcpl >= 0 &&
        (opt->meta_block == 0 || H5Pset_meta_block_size(fapl, opt->meta_block) >= 0) &&
        (opt->alignment == 0 ||
         H5Pset_alignment(fapl, opt->align_threshold, opt->alignment) >= 0) &&
        H5Pset_userblock(fcpl, opt->user_block) >= 0 &&
        H5Pset_link_creation_order(fcpl, 0) >= 0 &&
        H5Pset_obj_track_times(fcpl, !opt->timeless) >= 0)
        file = H5Fcreate("image", H5F_ACC_TRUNC, fcpl, fapl);
    if (fapl >= 0)
        H5Pclose(fapl);
    if (fcpl >= 0)
        H5Pclose(fcpl);
    return file;
}

struct h5_image *h5_image_create(const struct h5_image_options *opt, struct error *err)
{
    struct h5_image *image = calloc(1, sizeof *image);
    struct h5_quiet quiet;

    if (!image) {
        error_no_memory(err);
        return NULL;
    }
    image->file = -1;
    h5_quiet_begin(&quiet);
    image->file = image_file_create(image, opt);
    if (image->file < 0) {
        h5_error(err, "start an HDF5 file");
        h5_quiet_end(&quiet);
        h5_image_destroy(image);
        return NULL;
    }
    h5_quiet_end(&quiet);
    return image;
}

hid_t h5_image_file(const struct h5_image *image)
{
    return image->file;
}

int h5_image_reopen(struct h5_image *image, struct error *err)
{
    struct h5_quiet quiet;
    hid_t fapl;

    h5_quiet_begin(&quiet);
    fapl = file_access(image);
    if (fapl >= 0)
        image->file = H5Fopen("image", H5F_ACC_RDWR, fapl);
    if (image->file < 0)
        h5_error(err, "open an HDF5 file again");
    if (fapl >= 0)
        H5Pclose(fapl);
    h5_quiet_end(&quiet);
    return image->file < 0 ? -1 : 0;
}

int h5_image_close(struct h5_image *image, struct error *err)
{
    struct h5_quiet quiet;
    int rc = 0;

    h5_quiet_begin(&quiet);
    if (image->file >= 0 && H5Fclose(image->file) < 0)
        rc = h5_error(err, "complete an HDF5 file");
    image->file = -1;
    if (image->driver >= 0)
        H5FDunregister(image->driver);
    image->driver = -1;
    h5_quiet_end(&quiet);
    return rc;
}

void h5_image_destroy(struct h5_image *image)
{
    if (!image)
        return;
    h5_image_close(image, NULL);
    for (size_t i = 0; i < image->n_pages; i++)
        free(image->pages[i].data);
    free(image->pages);
    free(image);
}
