#include "mylos/data/tokens/token_writer.hpp"

#include <algorithm>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/data/files/block_digests.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

struct TokenWriter::State {
  State(const std::string& path, DType stored, std::int64_t count, const Vocabulary& words)
      : pending(path),
        file(hdf5::File::create(pending.temporary())),
        type(stored),
        tokens(count),
        vocabulary(words),
        digests(rows_per_digest(token_bytes(stored)), token_bytes(stored)) {}

  PendingFile pending;
  hdf5::File file;
  DType type;
  std::int64_t tokens;
  Vocabulary vocabulary;
  TokenIdentity identity;
  BlockDigests digests;
  std::int64_t written = 0;
  std::int64_t largest = 0;
  std::vector<std::byte> piece;
};

TokenWriter::TokenWriter(const std::string& path, DType type, std::int64_t tokens,
                         const Vocabulary& vocabulary, const std::string& source)
    : state_(std::make_unique<State>(path, type, tokens, vocabulary)) {
  auto& file = state_->file;
  (void)file.create_dataset("/tokens", type, {tokens});
  state_->digests.create(file, "/tokens", tokens);
  if (vocabulary.kind() == TokenKind::characters) {
    const std::string text = vocabulary.text();
    file.create_text("/vocabulary", static_cast<std::int64_t>(text.size())).write_text(text);
    write_text_digest(file, "/vocabulary", text);
  }
  file.write_attribute("/", "format", token_format);
  file.write_attribute("/", "version", token_version);
  file.write_attribute("/", "kind", name_of(vocabulary.kind()));
  file.write_attribute("/", "vocabulary", vocabulary.size());
  file.write_attribute("/", "identity", std::string(Xxh128::hex_characters, '0'));
  file.write_attribute("/", "source", source);
  file.reserve();
}

TokenWriter::~TokenWriter() = default;

void TokenWriter::add(std::span<const std::uint32_t> tokens) {
  State& state = *state_;
  if (tokens.empty()) return;
  const auto count = static_cast<std::int64_t>(tokens.size());
  state.largest = std::max<std::int64_t>(state.largest, *std::max_element(tokens.begin(), tokens.end()));
  state.piece.resize(static_cast<std::size_t>(count * token_bytes(state.type)));
  with_token_type(state.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* stored = reinterpret_cast<T*>(state.piece.data());
    std::transform(tokens.begin(), tokens.end(), stored, [](std::uint32_t token) { return T(token); });
    state.file.dataset("/tokens").write(state.written, count, stored);
  });
  state.identity.add(state.piece.data(), count * token_bytes(state.type));
  state.digests.add(state.piece.data(), count);
  state.written += count;
}

void TokenWriter::finish() {
  State& state = *state_;
  if (state.written != state.tokens) {
    fail_run(errors::internal, "{}: {} tokens were given for {}", state.pending.temporary(), state.written,
             state.tokens);
  }
  if (state.vocabulary.size() == 0) {
    state.vocabulary = Vocabulary::tokens(state.largest + 1);
    state.file.write_attribute("/", "vocabulary", state.vocabulary.size());
  }
  if (state.largest >= state.vocabulary.size()) {
    fail_run(errors::internal, "{}: token {} was given for a vocabulary of {}", state.pending.temporary(),
             state.largest, state.vocabulary.size());
  }
  state.digests.write(state.file, "/tokens");
  state.file.write_attribute("/", "identity", state.identity.finish(state.type, state.vocabulary));
  state.file.close();
  TokenDataset(state.pending.temporary()).read_all([](const std::byte*, std::int64_t) {});
  state.pending.publish();
}

}  // namespace mylos
