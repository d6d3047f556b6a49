// TokenDataset: an opened token file, checked before memory is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "mylos/data/files/checked_array.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/vocabulary.hpp"
#include "mylos/data/tokens/token_format.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

class TokenDataset {
 public:
  /// Throws Error (bad_input) when the file is missing, is no token file, or its parts do not fit each other.
  explicit TokenDataset(const std::string& path, Digests digests = Digests::compared);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t tokens() const { return tokens_.dataset().size(); }
  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

  /// Tokens [first, first + count) in their stored type. They may be outside the vocabulary in a file that
  /// `mylos prepare` did not make; the readers of windows check, by require_in_vocabulary(). Blocks that are
  /// read for the first time are compared with the file's digests: throws Error (bad_input) with the place of
  /// one that was changed.
  void read(std::int64_t first, std::int64_t count, void* destination) const;

  /// Of the contents: as stored by prepare, else by a pass over the file.
  [[nodiscard]] std::string identity() const;

  /// All tokens as they are stored, piece by piece, each checked.
  void read_all(const std::function<void(const std::byte* stored, std::int64_t count)>& take) const;

  /// Memory for comparing what is read with the file's digests.
  [[nodiscard]] std::int64_t checking_bytes() const { return tokens_.memory_bytes(); }

  /// Throws Error (bad_input) unless tokens [first, first + count), which read() stored there, are known.
  void require_in_vocabulary(const void* stored, std::int64_t first, std::int64_t count) const;
  /// Of all tokens of a file that `mylos prepare` did not make; identity()'s pass over such a file checks the
  /// same.
  void require_valid_values() const;

 private:
  [[nodiscard]] bool was_prepared() const;
  /// Checks every token; the identity of all.
  [[nodiscard]] std::string computed_identity() const;

  std::string path_;
  hdf5::File file_;
  DType type_;
  CheckedArray tokens_;
  Vocabulary vocabulary_;
};

/// What the file at `path` holds, by its attribute `format`, else by its datasets. Throws Error (bad_input)
/// when it cannot be opened.
[[nodiscard]] bool holds_tokens(const std::string& path);

/// Throws unless `other` (test data) has the vocabulary of `train`.
void require_same_vocabulary(const TokenDataset& train, const TokenDataset& other);

/// Windows of `context` tokens, each with the token after its last one, that lie one behind the other in
/// `tokens` tokens.
[[nodiscard]] constexpr std::int64_t windows_in(std::int64_t tokens, std::int64_t context) {
  return tokens < 1 ? 0 : (tokens - 1) / context;
}

/// The training part and, at the file's end, the held-out part, in tokens. Throws Error (bad_input) when one
/// of them holds no window of `context` tokens.
[[nodiscard]] Splits split_tokens(const TokenDataset& dataset, double validation_fraction,
                                  std::int64_t context);
/// Throws Error (bad_input) when `split` holds no window; `purpose`: "training", "validation" ...
void require_window(const TokenDataset& dataset, Split split, std::int64_t context,
                    const std::string& purpose);

}  // namespace mylos
