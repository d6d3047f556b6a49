// A table, as `mylos prepare csv` reads it. The first bytes say what is asked of it.
#include "hostile_input.hpp"
#include "mylos/data/prepare/prepare_csv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mylos;
  if (size < 2) return 0;
  PrepareCsv job{.file = fuzz::scratch_path("table.csv"), .out = fuzz::scratch_path("table.h5")};
  const std::string column =
      data[1] < 128 ? std::to_string(data[1] % 8) : std::string(1, "abcdxy\"'"[data[1] % 8]);
  (data[0] % 2 == 0 ? job.label : job.targets.emplace_back()) = column;
  if (data[0] % 4 == 3) job.targets.emplace_back("2");
  if (data[0] % 8 >= 4) job.classes = data[0] / 8;
  if (data[0] >= 250) job.separator = ';';
  if (data[1] % 16 >= 14) job.has_header = data[1] % 16 == 15;
  fuzz::write_file(job.file, fuzz::text_of(data + 2, size - 2));
  fuzz::take_or_refuse(size, [&] { prepare(job); });
  return 0;
}
