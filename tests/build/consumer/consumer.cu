#include <smx/group/block.cuh>
int on_device() { return 0; }
