// TokenDataset: an opened token file, checked before memory is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "mylos/data/files/checked_array.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/meaning/vocabulary.hpp"
#include "mylos/data/tokens/token_format.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

class TokenDataset {
 public:
  /// Throws Error (bad_input) if the file is missing, is not a token file, or has parts that do not fit each
  /// other.
  explicit TokenDataset(const std::string& path, Digests digests = Digests::compared);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t tokens() const { return tokens_.dataset().size(); }
  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

  /// Reads tokens [first, first + count) in their stored type. In a file that `mylos prepare` did not make
  /// they may be outside the vocabulary; the readers of windows check this with require_in_vocabulary().
  /// Compares blocks that are read for the first time with the file's digests. Throws Error (bad_input) with
  /// the location of a changed block.
  void read(std::int64_t first, std::int64_t count, void* destination) const;

  /// Returns the digest of the contents: as stored by prepare, otherwise from a pass over the file.
  [[nodiscard]] std::string identity() const;

  /// Passes all tokens in stored form to `take`, in pieces, after checking each token.
  void read_all(const std::function<void(const std::byte* stored, std::int64_t count)>& take) const;

  /// Returns the memory for comparing data with the file's digests.
  [[nodiscard]] std::int64_t reading_bytes() const { return tokens_.memory_bytes(); }

  /// Throws Error (bad_input) unless tokens [first, first + count), which read() stored there, are in the
  /// vocabulary.
  void require_in_vocabulary(const void* stored, std::int64_t first, std::int64_t count) const;
  /// Checks all tokens of a file that `mylos prepare` did not make; the pass of identity() over such a file
  /// makes the same check.
  void require_valid_values() const;

 private:
  [[nodiscard]] bool was_prepared() const;
  /// Checks every token and returns the identity of all.
  [[nodiscard]] std::string computed_identity() const;

  std::string path_;
  hdf5::File file_;
  DType type_;
  CheckedArray tokens_;
  Vocabulary vocabulary_;
};

/// Returns whether the file at `path` holds tokens, by its attribute `format`, otherwise by its datasets.
/// Throws Error (bad_input) if the file cannot be opened.
[[nodiscard]] bool holds_tokens(const std::string& path);

/// Throws unless `other` (test data) has the same vocabulary as `train`.
void require_same_vocabulary(const TokenDataset& train, const TokenDataset& other);

/// Returns the number of consecutive windows in `tokens` tokens. A window is `context` tokens and the next
/// one.
[[nodiscard]] constexpr std::int64_t windows_in(std::int64_t tokens, std::int64_t context) {
  return tokens < 1 ? 0 : (tokens - 1) / context;
}

/// Returns the training part and the held-out part at the file's end, in tokens. Throws Error (bad_input) if
/// a part holds no window of `context` tokens.
[[nodiscard]] Splits split_tokens(const TokenDataset& dataset, double validation_fraction,
                                  std::int64_t context);
/// Throws Error (bad_input) if `split` holds no window; `purpose`: "training", "validation" ...
void require_window(const TokenDataset& dataset, Split split, std::int64_t context,
                    const std::string& purpose);

}  // namespace mylos
