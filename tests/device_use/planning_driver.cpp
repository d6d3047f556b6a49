// A driver without a device, for the real cuDNN: it plans for a device that is described to it, compiles its
// kernels, and hands them to the driver to load. What it looks up and does not call there is in
// CMakeLists.txt.
#include <cuda.h>

namespace {

char loaded = 0;  // stands for every library and kernel

template <class Handle>
CUresult give(Handle* handle) {
  *handle = reinterpret_cast<Handle>(&loaded);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult notCalledInPlanning() {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuInit(unsigned) {
  return CUDA_ERROR_NO_DEVICE;
}
CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*,
                           void**, unsigned) {
  return give(library);
}
CUresult cuLibraryUnload(CUlibrary) {
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char*) {
  return give(kernel);
}

}  // extern "C"
