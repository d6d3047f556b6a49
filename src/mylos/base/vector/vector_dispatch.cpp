#include "mylos/base/vector/vector_dispatch.hpp"

#include <atomic>

#include "mylos/base/vector/vector_targets.hpp"
// Highway's headers come last because they read the macros above.
#include <hwy/highway.h>

namespace mylos::vector_dispatch {
namespace {

/// Returns Highway's bit of the set, or 0 if the architecture has no such target.
std::int64_t target_of(Instructions instructions) {
  switch (instructions) {
    case Instructions::baseline:
      return HWY_SSE2;
    case Instructions::avx2:
      return HWY_AVX2;
    case Instructions::avx512:
      return HWY_AVX3;
    case Instructions::avx512_bf16:
      return HWY_AVX3_ZEN4;
    case Instructions::neon:
      return HWY_NEON_WITHOUT_AES;
    case Instructions::sve:
      return HWY_SVE;
  }
  return 0;
}

/// Returns the compiled targets that the processor supports, as bits. Highway restricts AVX3_ZEN4 to AMD
/// because of an instruction that Mylos does not use; AVX3_SPR implies all others of AVX3_ZEN4.
std::int64_t targets_of_processor() {
  // Queried once: Highway takes a query for a request to choose again, and would choose by itself.
  static const std::int64_t found = hwy::SupportedTargets();
  return (found & HWY_AVX3_SPR) != 0 ? found | HWY_AVX3_ZEN4 : found;
}

std::atomic<Instructions>& chosen() {
  static std::atomic<Instructions> value{[] {
    const Instructions best = best_instructions();
    hwy::GetChosenTarget().Update(target_of(best));
    return best;
  }()};
  return value;
}

// Without this, Highway would choose at the first call of vector code, and differently from
// best_instructions().
[[maybe_unused]] const bool chosen_before_main = (chosen(), true);

}  // namespace

bool has(Instructions instructions) {
  return (target_of(instructions) & HWY_TARGETS & targets_of_processor()) != 0;
}

Instructions in_use() {
  return chosen();
}

void use(Instructions instructions) {
  chosen() = instructions;
  hwy::GetChosenTarget().Update(target_of(instructions));
}

}  // namespace mylos::vector_dispatch
