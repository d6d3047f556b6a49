// The levels of the x86-64 psABI; glibc's hwcaps folders have the same names.
#include "mylos/base/version.hpp"

namespace mylos {

std::string_view compiled_for() {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
  return "x86-64-v4";
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
  return "x86-64-v3";
#elif defined(__SSE4_2__)
  return "x86-64-v2";
#elif defined(__x86_64__)
  return "x86-64";
#elif defined(__ARM_FEATURE_SVE)
  return "aarch64 with SVE";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "this architecture";
#endif
}

}  // namespace mylos
