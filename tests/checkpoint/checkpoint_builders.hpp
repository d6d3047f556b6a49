// Helpers of the checkpoint tests: a small state that is equal on all ranks, and a temporary folder.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/state.hpp"
#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos::test {

/// A folder of the same name on all ranks, which rank 0 creates and removes.
class SharedFolder {
 public:
  explicit SharedFolder(RankGroup& ranks) : ranks_(ranks) {
    // In memory if possible: the tests' many fsync calls would take most of the time.
    std::string name = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
    name += "/mylos-checkpoint-XXXXXX";
    if (ranks.rank() == 0 && mkdtemp(name.data()) == nullptr)
      throw std::runtime_error(name + " cannot be made");
    path_ = broadcast_text(ranks, name);
  }
  ~SharedFolder() {
    ranks_.barrier();
    if (ranks_.rank() == 0) std::filesystem::remove_all(path_);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  RankGroup& ranks_;
  std::string path_;
};

/// Runs the command on rank 0 and returns its exit status on all ranks.
inline int on_rank_0(RankGroup& ranks, const std::string& command) {
  int status = 0;
  if (ranks.rank() == 0) status = std::system(command.c_str());
  ranks.broadcast(&status, sizeof status, 0);
  return status;
}

/// Arrays of every type, with sizes that are not multiples of any number of ranks.
struct SampleState {
  std::vector<float> weight = std::vector<float>(37 * 29);
  std::vector<float> bias = std::vector<float>(5);
  std::vector<double> norms = std::vector<double>(1001);
  std::vector<std::uint64_t> keys = std::vector<std::uint64_t>(3);
  std::vector<std::uint8_t> plan = std::vector<std::uint8_t>(77);
  std::int64_t position = 0;
  float scale = 0;

  /// Returns a state whose numbers differ between steps; some would be changed by a conversion.
  static SampleState filled(int step) {
    SampleState state;
    for (std::size_t i = 0; i < state.weight.size(); ++i)
      state.weight[i] = static_cast<float>(i) * 0.25f - static_cast<float>(step);
    state.weight[1] = -0.0f;
    state.weight[2] = 1e-42f;
    for (std::size_t i = 0; i < state.bias.size(); ++i) state.bias[i] = 1.0f / static_cast<float>(i + 3);
    for (std::size_t i = 0; i < state.norms.size(); ++i)
      state.norms[i] = std::sqrt(static_cast<double>(i) + step);
    state.keys = {1, 0xffffffffffffffffull, static_cast<std::uint64_t>(step)};
    for (std::size_t i = 0; i < state.plan.size(); ++i) state.plan[i] = static_cast<std::uint8_t>(i * 37);
    state.position = 1'000'000'007LL * step;
    state.scale = 65536;
    return state;
  }

  CheckpointState view() {
    CheckpointState state;
    state.add_device("/model/hidden0/weight", weight.data(), {37, 29});
    state.add_device("/model/hidden0/bias", bias.data(), {5});
    state.add_host("/optimizer/norms", norms.data(), {7, 11, 13});
    state.add_host("/random/keys", keys.data(), {3});
    state.add_host("/plan/list", plan.data(), {77});
    state.add_scalar("/data/position", position);
    state.add_scalar("/scaler/scale", scale);
    state.add_text("/data/identity", "fashion, 60000 samples");
    return state;
  }

  [[nodiscard]] bool same_bits(const SampleState& other) const {
    const auto same = [](const auto& a, const auto& b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
    };
    return same(weight, other.weight) && same(bias, other.bias) && same(norms, other.norms) &&
           same(keys, other.keys) && same(plan, other.plan) && position == other.position &&
           scale == other.scale;
  }
};

inline CheckpointHeader header_of(int step) {
  CheckpointHeader header;
  header.step = step;
  header.code_version = "0.1.0-test";
  header.deck = "[run]\nname = \"tiny\"\n";
  return header;
}

}  // namespace mylos::test
