// SampleGroup: what the ranks that share samples (mesh.space) agree on before a call whose passes
// exchange halos. A rank that made another call, or came with other numbers of samples, would leave the
// others waiting or send them faces of other sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

class SampleGroup {
 public:
  /// All ranks of `ranks` make one.
  SampleGroup(RankGroup& ranks, const Mesh& mesh);

  /// Why these ranks cannot compute a call together.
  struct Refusal {
    Error error;          // the same on all of them; names the ranks
    bool is_of_one_rank;  // the arguments of a rank are wrong, rather than different from those of others
  };
  /// All these ranks. `call`: "step()". `own`: what is wrong with this rank's arguments. Throws Error
  /// (bad_call) on all of them if they make different calls.
  [[nodiscard]] std::optional<Refusal> find_refusal(std::string_view call, std::int64_t samples,
                                                    const std::optional<Error>& own);
  /// The same, and throws the Error on all of them. `check` throws what is wrong with this rank's arguments.
  void agree(std::string_view call, std::int64_t samples, const std::function<void()>& check);

 private:
  int first_;  // the first of these ranks
  RankGroup group_;
};

/// Returns the Error that `function` throws.
[[nodiscard]] std::optional<Error> error_thrown_by(const std::function<void()>& function);

}  // namespace mylos
