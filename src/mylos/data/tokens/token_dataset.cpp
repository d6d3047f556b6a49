#include "mylos/data/tokens/token_dataset.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/data/files/data_file.hpp"

namespace mylos {
namespace {

hdf5::File open_tokens(const std::string& path) {
  auto file = open_data_file(path);
  if (file.has_attribute("/", "format")) {
    const std::string format = file.text_attribute("/", "format");
    if (format != token_format)
      fail_input(errors::wrong_format, "{}: is a {} file, expected {}", path, printable(format),
                 token_format);
    const auto version = file.integer_attribute("/", "version");
    if (version < 1 || version > token_version) {
      fail_input(errors::unknown_version, "{}: {} version {}, expected at most {}", path, format, version,
                 token_version);
    }
  }
  if (!file.exists("/tokens")) {
    fail_input(errors::missing_dataset,
               "{}: has no dataset /tokens; `mylos prepare text` and `mylos prepare tokens` make token files",
               path);
  }
  return file;
}

DType type_of(const hdf5::File& file) {
  const hdf5::Dataset tokens = file.dataset("/tokens");
  tokens.require({DType::uint8, DType::uint16, DType::uint32}, 1, "[tokens]");
  return *tokens.type();
}

TokenKind kind_of(const hdf5::File& file) {
  if (!file.has_attribute("/", "kind")) {
    return file.exists("/vocabulary") ? TokenKind::characters : TokenKind::tokens;
  }
  const std::string kind = file.text_attribute("/", "kind");
  for (const TokenKind known : {TokenKind::bytes, TokenKind::characters, TokenKind::tokens}) {
    if (kind == name_of(known)) return known;
  }
  fail_input(errors::bad_dataset, "{}: attribute 'kind' of / is '{}', expected bytes, characters or tokens",
             file.path(), printable(kind));
}

Vocabulary characters_of(const hdf5::File& file, Digests digests) {
  const std::string text = file.dataset("/vocabulary").read_text();
  if (digests == Digests::compared) require_text_digest(file, "/vocabulary", text);
  return Vocabulary::characters(text);
}

Vocabulary vocabulary_of(const hdf5::File& file, Digests digests) {
  const std::int64_t size = file.integer_attribute("/", "vocabulary");
  if (size < 1 || size > max_vocabulary) {
    fail_input(errors::bad_dataset, "{}: attribute 'vocabulary' of / is {}, expected 1 to {}", file.path(),
               size, max_vocabulary);
  }
  const TokenKind kind = kind_of(file);
  if (kind == TokenKind::tokens) return Vocabulary::tokens(size);
  Vocabulary vocabulary = kind == TokenKind::bytes ? Vocabulary::bytes() : characters_of(file, digests);
  if (vocabulary.size() != size) {
    fail_input(errors::bad_dataset, "{}: attribute 'vocabulary' of / is {}, but its vocabulary has {} {}",
               file.path(), size, vocabulary.size(), name_of(kind));
  }
  return vocabulary;
}

}  // namespace

std::string TokenIdentity::finish(DType type, const Vocabulary& vocabulary) {
  const std::string text = fmt::format("tokens {} {} vocabulary {} {} ", name_of(type), bytes_,
                                       name_of(vocabulary.kind()), vocabulary.size()) +
                           vocabulary.text() + tokens_.digest();
  Xxh128 digest;
  digest.update(text.data(), text.size());
  return digest.digest();
}

TokenDataset::TokenDataset(const std::string& path, Digests digests)
    : path_(path),
      file_(open_tokens(path)),
      type_(type_of(file_)),
      tokens_(file_, file_.dataset("/tokens"), type_, digests),
      vocabulary_(vocabulary_of(file_, digests)) {
  if (tokens() == 0)
    fail_input(errors::bad_dataset, "{}: dataset /tokens is empty, expected at least one token", path);
}

void TokenDataset::read(std::int64_t first, std::int64_t count, void* destination) const {
  tokens_.read(first, count, destination);
}

void TokenDataset::require_in_vocabulary(const void* stored, std::int64_t first, std::int64_t count) const {
  with_token_type(type_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span tokens(static_cast<const T*>(stored), static_cast<std::size_t>(count));
    const std::int64_t known = vocabulary_.size();
    T largest = 0;  // a loop without early exit is vectorised and is nearly always enough
    for (const T token : tokens) largest = std::max(largest, token);
    if (largest < known) return;
    const auto wrong = std::find_if(tokens.begin(), tokens.end(), [&](T token) { return token >= known; });
    fail_input(errors::unknown_token, "{}: /tokens element {} (counted from 0) is {}, expected 0 to {}",
               path_, first + (wrong - tokens.begin()), *wrong, known - 1);
  });
}

bool TokenDataset::was_prepared() const {
  return file_.has_attribute("/", "identity") && file_.exists("/digests");
}

std::string TokenDataset::identity() const {
  return was_prepared() ? file_.text_attribute("/", "identity") : computed_identity();
}

void TokenDataset::require_valid_values() const {
  if (!was_prepared()) static_cast<void>(computed_identity());
}

std::string TokenDataset::computed_identity() const {
  TokenIdentity identity;
  read_all(
      [&](const std::byte* stored, std::int64_t count) { identity.add(stored, count * token_bytes(type_)); });
  return identity.finish(type_, vocabulary_);
}

void TokenDataset::read_all(
    const std::function<void(const std::byte* stored, std::int64_t count)>& take) const {
  const std::int64_t most = (std::int64_t{1} << 20) / token_bytes(type_);
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(most, tokens()) * token_bytes(type_)));
  for (std::int64_t first = 0; first < tokens(); first += most) {
    const std::int64_t count = std::min(most, tokens() - first);
    read(first, count, piece.data());
    require_in_vocabulary(piece.data(), first, count);
    take(piece.data(), count);
  }
}

bool holds_tokens(const std::string& path) {
  const auto file = open_data_file(path);
  if (file.has_attribute("/", "format")) {
    const std::string format = file.text_attribute("/", "format");
    if (format != token_format && format != dataset_format) {
      fail_input(errors::wrong_format,
                 "{}: is a {} file, expected a token file or a dataset of `mylos prepare`", path,
                 printable(format));
    }
    return format == token_format;
  }
  return file.exists("/tokens") && !file.exists("/inputs");
}

void require_same_vocabulary(const TokenDataset& train, const TokenDataset& other) {
  if (train.vocabulary() == other.vocabulary()) return;
  const auto described = [](const Vocabulary& vocabulary) {
    return fmt::format("{} {}", vocabulary.size(), name_of(vocabulary.kind()));
  };
  const std::string theirs = described(other.vocabulary());
  const std::string ours = described(train.vocabulary());
  fail_input(errors::data_mismatch, "{}: has a vocabulary of {}{}, {} has one of {}", other.path(), theirs,
             theirs == ours ? " (different ones)" : "", train.path(), ours);
}

void require_window(const TokenDataset& dataset, Split split, std::int64_t context,
                    const std::string& purpose) {
  if (context < 1) fail_input(errors::bad_value, "model.context = {}, expected at least 1", context);
  if (windows_in(split.count, context) > 0) return;
  fail_input(
      errors::too_little_data,
      "{}: has {} tokens for {}, too few for model.context = {}; expected a context of at most {} (a token "
      "follows the window's last)",
      dataset.path(), split.count, purpose, context, std::max<std::int64_t>(0, split.count - 1));
}

Splits split_tokens(const TokenDataset& dataset, double validation_fraction, std::int64_t context) {
  const Splits splits = split_samples(dataset.tokens(), validation_fraction);
  require_window(dataset, splits.train, context, "training");
  if (splits.validation.count > 0) require_window(dataset, splits.validation, context, "validation");
  return splits;
}

}  // namespace mylos
