#include "mylos/data/arrays/files/metadata_digest.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace mylos::metadata_digest_test {

ArrayOptions plain() {
  ArrayOptions options;
  options.inputs = {"/u", "/v"};
  options.targets = {"/u"};
  return options;
}

/// A restart compares the digest of the data, of which this text is a part.
TEST(MetadataDigest, TellsApartOptionsThatMakeOtherSamples) {
  const std::vector<std::function<void(ArrayOptions&)>> changes = {
      [](ArrayOptions& o) {
        o.inputs = {"/v", "/u"};
      },
      [](ArrayOptions& o) { o.targets = {"/v"}; },
      [](ArrayOptions& o) { o.constants = {"/mask"}; },
      [](ArrayOptions& o) { o.history = 2; },
      [](ArrayOptions& o) { o.ahead = 2; },
      [](ArrayOptions& o) { o.every = 2; },
      [](ArrayOptions& o) { o.targets_are = TargetsAre::difference; },
      [](ArrayOptions& o) { o.differences = {"/u"}; },
      [](ArrayOptions& o) { o.points_are_samples = true; },
      [](ArrayOptions& o) { o.gaps = TimeGaps::split; },
      [](ArrayOptions& o) { o.encodings = {Encoding::hour}; },
      [](ArrayOptions& o) { o.missing = {"/v"}; },
      [](ArrayOptions& o) {
        o.missing = {"/v"};
        o.known_inputs = true;
      },
      [](ArrayOptions& o) { o.mask = "/sea"; },
      [](ArrayOptions& o) { o.fill = 0; }};
  std::set<std::string> texts{text_of_options(plain())};
  for (const auto& change : changes) {
    ArrayOptions options = plain();
    change(options);
    texts.insert(text_of_options(options));
  }
  EXPECT_EQ(texts.size(), changes.size() + 1);
}

}  // namespace mylos::metadata_digest_test
