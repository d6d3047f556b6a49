// Processors whose SHA-256 instructions Mylos does not know: the portable code does the work.
#include "mylos/base/error.hpp"
#include "sha256_rounds.hpp"

namespace mylos {

bool has_sha_instructions() {
  return false;
}

void compress_by_sha_instructions(Sha256State&, const std::uint8_t*, std::size_t) {
  fail_run("SHA-256: this processor's instructions are not known");
}

}  // namespace mylos
