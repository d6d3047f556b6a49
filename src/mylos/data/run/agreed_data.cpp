#include "mylos/data/run/agreed_data.hpp"

#include <fmt/format.h>

#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/values_of_ranks.hpp"

namespace mylos {
namespace {

void require_same(const std::string& path, std::int64_t samples, const std::string& identity,
                  RankGroup& ranks) {
  const auto seen =
      values_of_ranks(ranks, fmt::format("{} samples of digest {}", samples, printable(identity)));
  if (seen.size() > 1)
    fail_input(errors::ranks_disagree, "{} is not the same file for all ranks: {}; all must see the same",
               path, describe(seen));
}

}  // namespace

std::string agreed_identity(const RunData& data, const DataOptions& files, RankGroup& ranks) {
  for (const DataPart part : {DataPart::train, DataPart::test})
    if (const auto arrays = data.arrays(part)) arrays->survey_over(ranks);
  std::string training;
  std::string test;
  run_on_all(ranks, [&] {
    training = data.identity(DataPart::train);
    test = data.identity(DataPart::test);
  });
  require_same(files.train.text(), data.samples(DataPart::train), training, ranks);
  if (!files.test.empty()) require_same(files.test.text(), data.samples(DataPart::test), test, ranks);
  return training;
}

}  // namespace mylos
