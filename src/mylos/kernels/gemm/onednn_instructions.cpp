#include "mylos/kernels/gemm/onednn_instructions.hpp"

#include <dnnl.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/kernels/gemm/matrix_unit.hpp"

namespace mylos::onednn {
namespace {

/// An instruction set of oneDNN. It contains the bits of the sets that it includes.
struct Level {
  dnnl::cpu_isa isa;
  const char* name;
};

constexpr std::array<Level, 6> levels = {{{dnnl::cpu_isa::sse41, "SSE41"},
                                          {dnnl::cpu_isa::avx, "AVX"},
                                          {dnnl::cpu_isa::avx2, "AVX2"},
                                          {dnnl::cpu_isa::avx512_core, "AVX512_CORE"},
                                          {dnnl::cpu_isa::avx512_core_bf16, "AVX512_CORE_BF16"},
                                          {dnnl::cpu_isa::avx512_core_amx, "AVX512_CORE_AMX"}}};

bool includes(dnnl::cpu_isa more, dnnl::cpu_isa less) {
  const auto bits = static_cast<unsigned>(less);
  return (static_cast<unsigned>(more) & bits) == bits;
}

bool uses(dnnl::cpu_isa isa) {
  return includes(dnnl::get_effective_cpu_isa(), isa);
}

/// Returns null if the architecture has no levels.
const Level* level_for(Instructions instructions) {
  switch (instructions) {
    case Instructions::baseline:
      return &levels[0];
    case Instructions::avx2:
      return &levels[2];
    case Instructions::avx512:
      return &levels[3];
    case Instructions::avx512_bf16:
      return &levels[4];
    case Instructions::neon:
    case Instructions::sve:
      break;
  }
  return nullptr;
}

/// Returns the limit that the environment sets, or the highest level for a value that is unset or unknown:
/// oneDNN ignores unknown values too.
const Level& level_of_environment() {
  for (const char* variable : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    const char* given = std::getenv(variable);
    if (given == nullptr) continue;
    std::string name = given;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (name == "AVX512_CORE_VNNI") name = "AVX512_CORE";
    if (name == "AVX2_VNNI") name = "AVX2";
    for (const Level& level : levels) {
      if (name == level.name) return level;
    }
    break;
  }
  return levels.back();
}

}  // namespace

void limit_to(Instructions instructions) {
  const Level* wanted = level_for(instructions);
  if (wanted == nullptr || !includes(level_of_environment().isa, wanted->isa)) return;
  if (dnnl_set_max_cpu_isa(static_cast<dnnl_cpu_isa_t>(wanted->isa)) == dnnl_success) return;
  if (includes(wanted->isa, dnnl::get_effective_cpu_isa())) return;
  fail_input(
      errors::no_instructions,
      "kernels.instructions = \"{}\": oneDNN uses {}, because it was used before in this process or was "
      "built without limits. Set the instructions of the first engine, or kernels.gemm = \"tiles\"",
      name_of(instructions), limit());
}

std::string limit() {
  const auto last = std::find_if(levels.rbegin(), levels.rend(), [](const Level& l) { return uses(l.isa); });
  return last == levels.rend() ? "own choice" : last->name;
}

bool multiplies_bfloat16() {
  return uses(dnnl::cpu_isa::avx512_core_bf16);
}

bool uses_matrix_unit() {
  return uses(dnnl::cpu_isa::avx512_core_amx);
}

bool is_limited_below(Instructions instructions) {
  const Level* level = level_for(instructions);
  return level != nullptr && level != &levels.front() && !uses(level->isa);
}

bool could_use_matrix_unit() {
  return processor_has_matrix_unit() && &level_of_environment() == &levels.back();
}

}  // namespace mylos::onednn
