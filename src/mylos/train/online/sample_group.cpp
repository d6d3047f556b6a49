#include "mylos/train/online/sample_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "mylos/base/errors/calls.hpp"
#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos {
namespace {

/// The arguments of a rank, which all others receive.
struct Arguments {
  std::array<char, 32> call{};
  std::int64_t samples = 0;
  std::int32_t code = 0;  // of its Error; 0: none
};

/// A communicator that is freed: RankGroup has a duplicate.
class SplitCommunicator {
 public:
  SplitCommunicator(RankGroup& ranks, int color) {
    ranks.check(MPI_Comm_split(ranks.mpi(), color, ranks.rank(), &communicator_), "MPI_Comm_split");
  }
  ~SplitCommunicator() { MPI_Comm_free(&communicator_); }
  SplitCommunicator(const SplitCommunicator&) = delete;
  SplitCommunicator& operator=(const SplitCommunicator&) = delete;
  [[nodiscard]] MPI_Comm get() const { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace

SampleGroup::SampleGroup(RankGroup& ranks, const Mesh& mesh)
    : first_(mesh.sample_ranks().front()),
      group_(SplitCommunicator(ranks, mesh.batch_rank()).get(), ranks.timeout_s()) {}

std::optional<SampleGroup::Refusal> SampleGroup::find_refusal(std::string_view call, std::int64_t samples,
                                                              const std::optional<Error>& own) {
  Arguments arguments{.samples = samples, .code = own ? static_cast<std::int32_t>(own->code()) : 0};
  call.copy(arguments.call.data(), arguments.call.size() - 1);
  std::vector<Arguments> all(static_cast<std::size_t>(group_.size()));
  group_.all_gather(&arguments, all.data(), sizeof(Arguments));
  const auto rank_of = [&](const auto& found) { return static_cast<int>(found - all.begin()); };

  const auto other_call =
      std::ranges::find_if(all, [&](const Arguments& of) { return of.call != all[0].call; });
  if (other_call != all.end()) {
    fail_input(
        errors::bad_call,
        "rank {} calls {}, rank {} {}; ranks {} to {} share each sample (mesh.space) and must make the "
        "same calls",
        first_, all[0].call.data(), first_ + rank_of(other_call), other_call->call.data(), first_,
        first_ + group_.size() - 1);
  }
  const auto refused = std::ranges::find_if(all, [](const Arguments& of) { return of.code != 0; });
  if (refused != all.end()) {
    const std::string text = broadcast_text(group_, own ? own->what() : "", rank_of(refused));
    const Error error = Error::of_text(static_cast<ExitCode>(refused->code), text);
    return Refusal{error.with(fmt::format("rank {}: {}", first_ + rank_of(refused), error.message())), true};
  }
  const auto other_samples =
      std::ranges::find_if(all, [&](const Arguments& of) { return of.samples != all[0].samples; });
  if (other_samples == all.end()) return std::nullopt;
  return Refusal{
      Error(ExitCode::bad_input, errors::bad_call,
            fmt::format("{} with {} samples on rank {} and {} on rank {}; ranks {} to {} share each "
                        "sample (mesh.space), and each passes its box of the same samples",
                        call, all[0].samples, first_, other_samples->samples, first_ + rank_of(other_samples),
                        first_, first_ + group_.size() - 1)),
      false};
}

void SampleGroup::agree(std::string_view call, std::int64_t samples, const std::function<void()>& check) {
  if (const std::optional<Refusal> refusal = find_refusal(call, samples, error_thrown_by(check)))
    throw Error(refusal->error);
}

std::optional<Error> error_thrown_by(const std::function<void()>& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return Error::of(error);
  }
  return std::nullopt;
}

}  // namespace mylos
