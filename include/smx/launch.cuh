// Launching a call on a stream: a kernel by name, or the one that suits the shape.
#pragma once
#include <cuda_runtime_api.h>

#include "device.cuh"
#include "dtype_half.hpp"
#include "kernel.cuh"
#include "panels.hpp"

SMX_BEGIN

// Where a call runs: a stream, as it is.
struct launch_place {
    cudaStream_t stream;
    bool programmatic = false;

    launch_place(cudaStream_t on) : stream(on) {}
    launch_place(cudaStream_t on, bool starts_early) : stream(on), programmatic(starts_early) {}
};

// A stream on which the kernel may start while the one before it ends: it reads and writes nothing until that has, and lets the next one start
// in the same way when it begins to read. Compute capability 9.0 and later, elsewhere as on the stream.
// Source    CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".
inline launch_place programmatic(cudaStream_t stream) { return {stream, true}; }

SMX_END

SMX_BEGIN_KERNELS

// Whatever names a kernel is static, as CUDA makes kernel templates: a launcher shared by two translation units would remember what it has
// set for the kernel of the one and launch the kernel of the other.
namespace launching {

// Lets a kernel use all the shared memory that limits have, where it needs more than every kernel may (48 KiB, its own variables included); once
// a kernel and device.
template <class Kernel, class Operands>
static status allow_shared_memory(int device, int64 bytes, device_limits limits) {
    constexpr int64 always_allowed = 48 * 1024 - static_shared_bytes;
    static number_of_device allowed;
    if (bytes <= always_allowed || bytes <= allowed.get(device)) return {};
    int const most = static_cast<int>(limits.shared_bytes_per_block - static_shared_bytes);
    cudaError_t const error = cudaFuncSetAttribute(reinterpret_cast<void const*>(softmax_kernel<typename Kernel::plain, Operands>),
                                                   cudaFuncAttributeMaxDynamicSharedMemorySize, most);
    if (error != cudaSuccess) return cuda_status(error, "cudaFuncSetAttribute");
    allowed.set(device, most);
    return {};
}

// Lets a kernel have clusters of more than the 8 blocks that every kernel may; once a kernel and device.
template <class Kernel, class Operands>
static status allow_large_clusters(int device) {
    static number_of_device allowed;
    if (allowed.get(device) != 0) return {};
    cudaError_t const error = cudaFuncSetAttribute(reinterpret_cast<void const*>(softmax_kernel<typename Kernel::plain, Operands>),
                                                   cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (error != cudaSuccess) return cuda_status(error, "cudaFuncSetAttribute");
    allowed.set(device, 1);
    return {};
}

// Bulk copies, clusters and kernels that start early need code compiled for 9.0: a device of 9.0 may run what was compiled for less. Takes
// from `limits` what the code has not.
template <class Kernel, class Operands>
static status limit_to_code(int device, device_limits& limits) {
    static number_of_device versions;
    int version = versions.get(device);
    if (version == 0) {
        cudaFuncAttributes attributes;
        cudaError_t const error = cudaFuncGetAttributes(&attributes, reinterpret_cast<void const*>(softmax_kernel<typename Kernel::plain, Operands>));
        if (error != cudaSuccess) return cuda_status(error, "cudaFuncGetAttributes");
        version = attributes.ptxVersion;
        versions.set(device, version);
    }
    if (version < 90) {
        limits.bulk_copies = false;
        limits.cluster_blocks = 1;
    }
    return {};
}

// What can be said against a kernel without asking the device.
template <class Kernel>
status check_kernel(row_shape shape) {
    if (holds_row(Kernel::value.body) && shape.cols > Kernel::value.columns())
        return detail::wrong(errc::too_large, "keys", "no more than the kernel's lanes * vec * packs, or another kernel", shape.cols);
    if (Kernel::value.body == body_kind::packed && !shape.rows_touch)
        return detail::wrong(errc::bad_stride, "x and y", "packed, of one element size and in one phase of 16 bytes, or another kernel", 0);
    return {};
}

// Requires  o passed check() and has rows
// Gives     errc::device_limit where the kernel cannot run; limits then says what its code has
template <class Kernel, class Operands>
static status launch_checked(launch_place place, Operands o, row_shape shape, int device, device_limits& limits) {
    if (Kernel::value.body == body_kind::packed || Kernel::blocks > 1 || place.programmatic) {
        if (limits.bulk_copies || limits.cluster_blocks > 1) {
            if (status const s = limit_to_code<Kernel, Operands>(device, limits); !s) return s;
        }
    }
    int const blocks = Kernel::blocks_for(shape);
    if (blocks > limits.cluster_blocks)
        return detail::wrong(errc::device_limit, "blocks of a cluster", "no more than the device, and the code for it, has", blocks);
    int64 const shared = Kernel::shared_bytes(shape);
    if (!Kernel::can_run(shape, limits))
        return detail::wrong(errc::device_limit, "kernel", "one the device has shared memory and instructions for; bytes needed", shared);
    if constexpr (Kernel::value.body == body_kind::staged || Kernel::value.body == body_kind::packed || Kernel::value.body == body_kind::deep) {
        if (status const s = allow_shared_memory<Kernel, Operands>(device, shared, limits); !s) return s;
    }
    // The blocks that share a row lie along x; otherwise x is the axis that reaches furthest.
    int64 const count = (o.rows.count() - 1) / Kernel::rows_per_block + 1, most = Kernel::blocks > 1 ? 65535 : 0x7fffffff, outer = (count - 1) / most + 1;
    if (outer > 65535) return detail::wrong(errc::too_large, "batch * heads * queries", "few enough rows for one grid of this kernel", o.rows.count());
    unsigned const inner = static_cast<unsigned>(outer == 1 ? count : (count - 1) / outer + 1);
    cudaLaunchConfig_t config = {};
    config.gridDim = Kernel::blocks > 1 ? dim3(static_cast<unsigned>(blocks), inner, static_cast<unsigned>(outer)) : dim3(inner, static_cast<unsigned>(outer));
    config.blockDim = dim3(Kernel::threads);
    config.dynamicSmemBytes = static_cast<size_t>(shared);
    config.stream = place.stream;
    cudaLaunchAttribute attributes[2];
    config.attrs = attributes;
    if constexpr (Kernel::blocks > 1) {
        if (blocks > 8) {
            if (status const s = allow_large_clusters<Kernel, Operands>(device); !s) return s;
        }
        cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim.x = static_cast<unsigned>(blocks);
        cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
        o.rows.share(blocks, Kernel::value.vec);
    }
    if constexpr (detail::may_be_in_panels<Operands> && Kernel::value.body != body_kind::packed && Kernel::blocks == 1) detail::take_in_panels(o);
    bool const is_early = place.programmatic && limits.bulk_copies;  // what has the one has the other: 9.0, device and code
    if constexpr (Kernel::template takes_whole_rows<Operands>) o.whole.launch_as(o.rows.slice_columns(), is_early, outer == 1);
    if (is_early) {
        cudaLaunchAttribute& early = attributes[config.numAttrs++];
        early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        early.val.programmaticStreamSerializationAllowed = 1;
    }
    cudaError_t const error = cudaLaunchKernelEx(&config, softmax_kernel<typename Kernel::plain, Operands>, o);
    if (Kernel::blocks > 1 && error == cudaErrorInvalidClusterSize) {  // a part of a GPU may hold less than its kind
        limits.cluster_blocks = blocks / 2;
        return detail::wrong(errc::device_limit, "blocks of a cluster", "no more than this device can place", blocks);
    }
    return cuda_status(error, "kernel launch");
}

// Requires  o passed check(); find() as current_device() does, or says that the device has less
template <class Kernel, class Operands>
static status launch_named(launch_place place, Operands const& o, decltype(current_device)* find = current_device) {
    if (detail::is_done(o)) return {};
    row_shape const shape = detail::shape_of(o);
    if (status const s = check_kernel<Kernel>(shape); !s) return s;
    untouched_error const keep;
    int device = 0;
    device_limits limits;
    if (status const s = find(device, limits); !s) return s;
    return launch_checked<Kernel>(place, o, shape, device, limits);
}

// The first kernel of a list that can run the rows.
// Requires  o passed check_choice(); find() as for launch_named()
template <class Kernels, class Operands>
static status launch_first(launch_place place, Operands const& o, decltype(current_device)* find = current_device) {
    if (detail::is_done(o)) return {};
    untouched_error const keep;
    int device = 0;
    device_limits limits;
    if (status const s = find(device, limits); !s) return s;
    row_shape const shape = detail::shape_of(o);
    auto const launch_chosen = [&](auto kernel) { return launch_checked<decltype(kernel)>(place, o, shape, device, limits); };
    status const s = detail::with_first(Kernels(), shape, limits, launch_chosen);
    // What the device can do the code may not: then the next kernel that needs less.
    return s.code == errc::device_limit ? detail::with_first(Kernels(), shape, limits, launch_chosen) : s;
}

}  // namespace launching

// What of the current device decides between kernels, for plan() and choose_policy().
// Errors    cuda_failed, as where there is no device
inline status find_limits(device_limits& limits) {
    launching::untouched_error const keep;
    int device = 0;
    return launching::current_device(device, limits);
}

// Scaled mask softmax by the kernel you name.
// Shape     x: scores(pointer, shape, strides); y: probabilities(pointer, strides); masks and factors as they say; all in device memory
// Errors    as check(); too_large or device_limit when the kernel cannot run these rows; cuda_failed with CUDA's own error. Nothing is
//           launched or written then, and the error CUDA remembers for the thread is as it was.
// Cost      one kernel launch; no allocation, no synchronisation; may be the first call in a stream capture
template <class Kernel, class Input, class Factor, class Mask, class Output, class... Extras>
static status launch(launch_place place, shaped_input<Input> const& x, Factor const& factor, Mask const& masks, Output const& output,
                     Extras const&... extras) {
    auto const o = smx::make_operands(x, factor, masks, output, extras...);
    if (status const s = smx::check(o); !s) return s;
    return launching::launch_named<Kernel>(place, o);
}

// Scaled mask softmax by the kernel that suits the rows and the mask; plan() says which. A Choice limits what is compiled or chosen:
// launch_auto<for_columns<1, 4096>>(...), launch_auto<batch_invariant<>>(...).
// Shape, errors and cost as launch(); also bad_shape or too_large for columns outside the Choice
template <class Choice = every_kernel, class Input, class Factor, class Mask, class Output, class... Extras>
static status launch_auto(launch_place place, shaped_input<Input> const& x, Factor const& factor, Mask const& masks, Output const& output,
                          Extras const&... extras) {
    auto const o = smx::make_operands(x, factor, masks, output, extras...);
    if (status const s = detail::check_choice<Choice>(o); !s) return s;
    return launching::launch_first<detail::automatic_kernels<Input, typename decltype(o)::seen_type, Choice, Output>>(place, o);
}

SMX_END_KERNELS
