#include "mylos/comm/same_code.hpp"

#include "mylos/base/version.hpp"
#include "mylos/comm/collective_error.hpp"

namespace mylos {

void require_same_code(RankGroup& ranks) {
  const std::string own = fmt::format("{} compiled for {}", code_version(), compiled_for());
  const std::string first = broadcast_text(ranks, own);
  run_on_all(ranks, [&] {
    if (own == first) return;
    fail_input(
        "this is Mylos {}, on rank 0 it is Mylos {}; all ranks must run the same code. Where nodes have "
        "processors of several kinds, start every rank with GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F: all "
        "then load the library's copy for AVX2; with -AVX2 that for any x86-64",
        own, first);
  });
}

}  // namespace mylos
