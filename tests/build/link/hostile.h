// Macros, and names of shared memory, that real projects define before they include others' headers.
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define CHECK(x) x x x
#define DIVUP(a, b) (((a) + (b)-1) / (b))
#define WARP_SIZE 32
#define T float
#define N 7
#define ILP 4
#define kWarpSize 32
#define ALIGN 16
#define half2float(x) (x)
#ifdef __CUDACC__
extern __shared__ char smem[];
extern __shared__ char shared[];
extern __shared__ char sdata[];
extern __shared__ char shared_buf[];
#endif
