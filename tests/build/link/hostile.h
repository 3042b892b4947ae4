// Macros that real projects define before they include others' headers.
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define CHECK(x) x x x
#define DIVUP(a, b) (((a) + (b)-1) / (b))
#define WARP_SIZE 32
#define T float
#define N 7
#define ILP 4
#define kWarpSize 32
