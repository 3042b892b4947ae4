#include <smx/mask.hpp>
#include <cstdio>
#ifdef WITH_CUDA
int on_device();
#endif
int main(){
#ifdef WITH_CUDA
  on_device();
#endif
  std::puts("ok"); }
