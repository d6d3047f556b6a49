#include "mylos/comm/ranks/same_code.hpp"

#include <fmt/format.h>

#include "mylos/base/device/devices.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/version.hpp"
#include "mylos/comm/ranks/values_of_ranks.hpp"

namespace mylos {

void require_same_code(RankGroup& ranks) {
  require_one_vendor(ranks, device_vendor());
  const auto versions =
      values_of_ranks(ranks, fmt::format("Mylos {} compiled for {}", code_version(), compiled_for()));
  if (versions.size() == 1) return;
  fail_input(
      errors::ranks_disagree,
      "the ranks run different code: {}; all must run the same. If nodes have processors of several kinds, "
      "start every rank with GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F: all ranks then load the library's "
      "copy for AVX2; with -AVX2 they load the copy for any x86-64",
      describe(versions));
}

void require_one_vendor(RankGroup& ranks, std::string_view vendor) {
  const auto builds = values_of_ranks(
      ranks, vendor.empty() ? "a build for hosts" : fmt::format("a build for {} devices", vendor));
  if (builds.size() == 1) return;
  fail_input(errors::ranks_disagree,
             "the ranks run builds for different devices: {}; start all ranks on nodes with devices of one "
             "vendor, with the build for it",
             describe(builds));
}

}  // namespace mylos
