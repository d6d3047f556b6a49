#include "mylos/data/run/run_data.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/data/run/data_kinds.hpp"

namespace mylos {

std::unique_ptr<RunData> open_run_data(const Options& options, Answers answers, const Places& places) {
  const std::string& file = options.data.train;
  if (file.empty())
    fail_input(ErrorId::missing_key, "the deck has no data.train; only `mylos plan` works without it");
  const DataKind& given =
      **std::ranges::find_if(data_kinds, [&](const DataKind* kind) { return kind->holds(file); });
  if (given.feeds(options.model.type)) return given.open(options, answers, places);
  const DataKind& wanted = **std::ranges::find_if(
      data_kinds, [&](const DataKind* kind) { return kind->feeds(options.model.type); });
  fail_input(
      ErrorId::data_mismatch,
      "{} holds {}, which model.type = \"{}\" cannot learn; `mylos prepare {}` makes a file that it can",
      file, given.name, wanted.learner, wanted.prepared);
}

}  // namespace mylos
