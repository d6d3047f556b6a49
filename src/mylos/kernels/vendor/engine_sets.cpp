// All engine sets, and the selection of one by the deck.
#include "mylos/kernels/engines/engine_set.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/kernels/attention/fused_attention.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"
#include "mylos/kernels/gemm/onednn_instructions.hpp"
#include "mylos/kernels/vendor/device_engines.hpp"
#include "mylos/kernels/vendor/host/host_engines.hpp"

namespace mylos {
namespace {

/// Returns the maker of a set of the engine alone, which computes all GEMMs whatever the use; null if the
/// build lacks the engine.
template <MakeGemm (*find)()>
MakeEngines alone() {
  if (find() == nullptr) return nullptr;
  return [](EngineUse, AttentionSums) { return std::make_unique<EngineSet>(find()()); };
}

/// Returns the maker of the set of the device's libraries; null if the build has others, or none.
MakeEngines of_device(std::string_view name) {
  const DeviceEngines engines = device_engines();
  return engines.name == name ? engines.make : nullptr;
}

struct ListedSet {
  std::string_view name;  // in decks
  MakeEngines (*find)();  // the maker; null if the build lacks the engine
};

// "auto" and "measure" use the first set of the build: from the fastest to the one that runs everywhere. The
// sets of hosts and of devices are never in one build.
constexpr ListedSet sets[] = {
    {"onednn", onednn_engines},
    {"tiles", alone<tiled_gemm>},
    {"cublaslt", [] { return of_device("cublaslt"); }},
    {"hipblaslt", [] { return of_device("hipblaslt"); }},
    {"kokkos", alone<kokkos_gemm>},
};

static_assert(std::equal(std::begin(sets), std::end(sets), std::begin(gemm_engines), std::end(gemm_engines),
                         [](const ListedSet& set, GemmChoice engine) { return set.name == engine.name; }),
              "a deck accepts the engines of this table");

EngineUse use_of(GemmChoice choice) {
  if (choice == GemmChoice::automatic) return EngineUse::automatic;
  return choice == GemmChoice::measure ? EngineUse::measured : EngineUse::named;
}

}  // namespace

std::vector<std::string> gemm_engine_names() {
  std::vector<std::string> names;
  for (const ListedSet& set : sets) {
    if (set.find() != nullptr) names.emplace_back(set.name);
  }
  return names;
}

GemmChoice gemm_engine_named(std::string_view name) {
  for (const ListedSet& set : sets) {
    if (set.find() != nullptr && set.name == name) return {set.name};
  }
  fail_input(errors::not_in_build, "GEMM engine '{}' is not available in this build, which has {}",
             printable(name), fmt::join(gemm_engine_names(), ", "));
}

std::unique_ptr<EngineSet> make_engines(const KernelOptions& options) {
  if (options.instructions) {
    // oneDNN may refuse, so it is asked before the vector code changes. Unavailable instructions are refused
    // below.
    if (options.gemm != GemmChoice::tiles && is_available(*options.instructions))
      onednn::limit_to(*options.instructions);
    use_instructions(*options.instructions);
  }
  const EngineUse use = use_of(options.gemm);
  for (const ListedSet& set : sets) {
    if (use == EngineUse::named && options.gemm.name != set.name) continue;
    const MakeEngines make = set.find();
    if (make == nullptr) continue;
    std::unique_ptr<EngineSet> engines = make(use, options.attention_sums);
    if (options.attention_sums == AttentionSums::any_order && engines->libraries().attention == nullptr) {
      const std::string found = describe_fused_attention();
      fail_input(errors::not_in_build,
                 "kernels.attention_sums = \"any_order\" has an effect only where cuDNN computes attention, "
                 "with the engine cublaslt; {}. Remove it, or set \"fixed_order\"",
                 found.empty() ? "this build is for hosts" : "here: " + found);
    }
    return engines;
  }
  fail_input(errors::not_in_build,
             "kernels.gemm = \"{}\" is not available in this build, which has: auto, measure, {}",
             options.gemm.name, fmt::join(gemm_engine_names(), ", "));
}

std::unique_ptr<GemmEngine> make_gemm_engine(const KernelOptions& options) {
  return make_engines(options)->take_gemm();
}

KernelOptions usable_here(const KernelOptions& options) {
  KernelOptions usable = options;
  usable.attention_sums = AttentionSums::fixed_order;  // of backward passes
  if (usable.instructions && !is_available(*usable.instructions)) usable.instructions.reset();
  for (const ListedSet& set : sets) {
    if (usable.gemm.name == set.name && set.find() == nullptr) usable.gemm = GemmChoice::automatic;
  }
  return usable;
}

std::string describe_fused_attention() {
  const DeviceEngines engines = device_engines();
  return engines.describe_attention != nullptr ? engines.describe_attention() : "none";
}

EngineSet::EngineSet(std::unique_ptr<GemmEngine> gemm, std::shared_ptr<FusedAttention> attention,
                     std::shared_ptr<LibraryConvolution> convolution)
    : gemm_(std::move(gemm)), attention_(std::move(attention)), convolution_(std::move(convolution)) {}

std::string EngineSet::take_refusals() {
  const std::string of_attention = attention_ ? attention_->take_refusals() : "";
  const std::string of_convolutions = convolution_ ? convolution_->take_refusals() : "";
  const bool both = !of_attention.empty() && !of_convolutions.empty();
  return of_attention + (both ? "\n" : "") + of_convolutions;
}

}  // namespace mylos
