// One wrapper for each instruction that C++ does not reach without a header of the toolkit.
#pragma once
#include "config.hpp"

SMX_BEGIN
namespace ptx {

// 2^x, error under 2 units in the last place, results under 2^-126 are 0.
SMX_DEVICE float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// 1 / x, error under 1 unit in the last place, exact for powers of two.
SMX_DEVICE float reciprocal_approx(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Each half of a word all its sign bit.
SMX_DEVICE unsigned signs_spread(unsigned word) {
    unsigned spread;
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(spread) : "r"(word));
    return spread;
}

// 0 for a number of 0 or above, which the compiler does not know.
SMX_DEVICE unsigned zero_of(int number) {
    unsigned zero;
    asm("shr.u32 %0, %1, 31;" : "=r"(zero) : "r"(number));
    return zero;
}

// Global memory that is not wanted again soon.
template <class Word>
SMX_DEVICE Word load_streamed(Word const* from) {
    return SMX_STREAMED(__ldcs(from), *from);
}
template <class Word>
SMX_DEVICE void store_streamed(Word* into, Word value) {
    SMX_STREAMED(__stcs(into, value), *into = value);
}

SMX_DEVICE float half_to_float(unsigned short bits) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(bits));
    return y;
}

SMX_DEVICE unsigned short float_to_half(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

#if SMX_ARCH >= 900
// In each half of a word 1, where it is above that of `last`, or 0.
SMX_DEVICE unsigned halves_above(unsigned word, unsigned last) {
    unsigned above;
    asm("{\n\t"
        ".reg .b32 larger, past;\n\t"
        "max.u16x2 larger, %1, %2;\n\t"
        "sub.u32 past, larger, %2;\n\t"
        "min.u16x2 %0, past, %3;\n\t"
        "}"
        : "=r"(above)
        : "r"(word), "r"(last), "r"(0x10001u));
    return above;
}
#endif

#if SMX_ARCH >= 800
// Two floats to two halves in one word, `low` in the lower half.
SMX_DEVICE unsigned floats_to_halves(float low, float high) {
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

SMX_DEVICE unsigned floats_to_bfloat16s(float low, float high) {
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

// Loads with a cache policy, as createpolicy gives it; in the order they are written in, as other loads.
SMX_DEVICE uint4 load(uint4 const* pointer, uint64 policy) {
    uint4 v;
    asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(pointer), "l"(policy) : "memory");
    return v;
}
SMX_DEVICE uint2 load(uint2 const* pointer, uint64 policy) {
    uint2 v;
    asm volatile("ld.global.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;" : "=r"(v.x), "=r"(v.y) : "l"(pointer), "l"(policy) : "memory");
    return v;
}
SMX_DEVICE unsigned load(unsigned const* pointer, uint64 policy) {
    unsigned v;
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(v) : "l"(pointer), "l"(policy) : "memory");
    return v;
}

// The larger number in each half of a word; the other one where that is NaN.
SMX_DEVICE unsigned larger_halves(unsigned a, unsigned b) {
    unsigned word;
    asm("max.f16x2 %0, %1, %2;" : "=r"(word) : "r"(a), "r"(b));
    return word;
}

SMX_DEVICE unsigned larger_bfloat16s(unsigned a, unsigned b) {
    unsigned word;
    asm("max.bf16x2 %0, %1, %2;" : "=r"(word) : "r"(a), "r"(b));
    return word;
}

// Two products, subnormals included; of bfloat16s by a sum with -0, which 8.0 has.
SMX_DEVICE unsigned product_of_halves(unsigned a, unsigned b) {
    unsigned word;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(word) : "r"(a), "r"(b));
    return word;
}

SMX_DEVICE unsigned product_of_bfloat16s(unsigned a, unsigned b) {
    unsigned word;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(word) : "r"(a), "r"(b), "r"(0x80008000u));
    return word;
}
#endif

// Blocks of the cluster along x, and which of them this is: a block alone is a cluster of one.
SMX_DEVICE int cluster_blocks() {
    int count = 1;
#if SMX_ARCH >= 900
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(count));
#endif
    return count;
}
SMX_DEVICE int cluster_block() {
    int block = 0;
#if SMX_ARCH >= 900
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(block));
#endif
    return block;
}
// Blocks of the grid along x and y, asked for no earlier than it stands there: the answer may take a trip to memory.
SMX_DEVICE unsigned grid_width() {
    unsigned count;
    asm volatile("mov.u32 %0, %%nctaid.x;" : "=r"(count));
    return count;
}
SMX_DEVICE unsigned grid_height() {
    unsigned count;
    asm volatile("mov.u32 %0, %%nctaid.y;" : "=r"(count));
    return count;
}
// Programmatic launch. Until what this kernel depends on has ended and its writes can be seen; at once where it was launched as usual.
SMX_DEVICE void wait_for_previous_kernel() {
#if SMX_ARCH >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// The next kernel may start, when every block has said so or has ended; it waits for the end of this one all the same.
SMX_DEVICE void start_next_kernel() {
#if SMX_ARCH >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#if SMX_ARCH >= 900
// Addresses of shared memory as instructions want them.
SMX_DEVICE unsigned shared_address(void const* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

SMX_DEVICE void barrier_init(uint64* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
SMX_DEVICE void barrier_expect(uint64* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
SMX_DEVICE void barrier_wait(uint64* barrier, int parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
}
// Makes ordinary writes to shared memory visible to bulk copies.
SMX_DEVICE void fence_for_bulk_copy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Both addresses and `bytes` are multiples of 16.
SMX_DEVICE void bulk_load(void* shared, void const* global, int bytes, uint64* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(shared)),
                 "l"(global), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}
SMX_DEVICE void bulk_store(void* global, void const* shared, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(shared_address(shared)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Until the shared memory of every bulk store has been read.
SMX_DEVICE void bulk_stores_wait() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

// 16 bytes from global to shared memory, past the L1; until what this thread copied is there.
SMX_DEVICE void copy_async(void* shared, void const* global, uint64 policy) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "l"(policy) : "memory");
}
SMX_DEVICE void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
// The same when `sum` has been worked out, which is not -1: a compiler would put what it is worked out by behind the wait.
SMX_DEVICE void wait_for_copies_after(float sum) {
    asm volatile("{\n.reg .pred known;\nsetp.ne.b32 known, %0, 0xbf800000;\n@known cp.async.wait_all;\n}" ::"r"(__float_as_uint(sum)) : "memory");
}

// Clusters. A warp arrives and waits as one.
SMX_DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
SMX_DEVICE void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
SMX_DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
// Makes the initialisation of barriers visible to peers that meet this thread later.
SMX_DEVICE void fence_barrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Where an address of this block's shared memory lies in that of another block of the cluster.
SMX_DEVICE unsigned peer_address(void const* own, int peer) {
    unsigned address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(own)), "r"(peer));
    return address;
}
// Stores to a peer, whose barrier counts the bytes when they are there.
SMX_DEVICE void store_async(unsigned address, unsigned word, unsigned barrier) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(address), "r"(word), "r"(barrier) : "memory");
}
SMX_DEVICE void store_async(unsigned address, uint64 word, unsigned barrier) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(address), "l"(word), "r"(barrier) : "memory");
}
SMX_DEVICE void store_async(unsigned address, uint64 first, uint64 second, unsigned barrier) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%0], {%1, %2}, [%3];" ::"r"(address), "l"(first), "l"(second),
                 "r"(barrier)
                 : "memory");
}
// As barrier_wait, for what peers have stored.
SMX_DEVICE void barrier_wait_for_peers(uint64* barrier, int parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
}
#endif

}  // namespace ptx
SMX_END
