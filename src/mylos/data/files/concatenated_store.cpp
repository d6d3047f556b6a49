#include "mylos/data/files/concatenated_store.hpp"

#include <algorithm>
#include <cmath>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/files/meaning/sample_meaning.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {

ColumnStatistics combined(const std::vector<ColumnStatistics>& parts, const std::vector<std::int64_t>& rows) {
  ColumnStatistics all = parts.front();
  auto count = static_cast<double>(rows.front());
  for (std::size_t part = 1; part < parts.size(); ++part) {
    const ColumnStatistics& other = parts[part];
    const auto more = static_cast<double>(rows[part]);
    for (std::size_t i = 0; i < all.mean.size(); ++i) {
      const double difference = other.mean[i] - all.mean[i];
      const double share = more / (count + more);
      const double variance = (1 - share) * all.deviation[i] * all.deviation[i] +
                              share * other.deviation[i] * other.deviation[i] +
                              share * (1 - share) * difference * difference;
      all.mean[i] += share * difference;
      all.deviation[i] = std::sqrt(variance);
      all.minimum[i] = std::min(all.minimum[i], other.minimum[i]);
      all.maximum[i] = std::max(all.maximum[i], other.maximum[i]);
    }
    count += more;
  }
  return all;
}

ConcatenatedStore::ConcatenatedStore(const std::vector<std::string>& paths, std::string name,
                                     GroundTruth truth)
    : name_(std::move(name)) {
  if (paths.size() > max_files) {
    fail_input(errors::too_large, "{}: are {} prepared files, of which at most {} can be read together",
               name_, paths.size(), max_files);
  }
  for (const std::string& path : paths) {
    auto file = std::make_unique<Dataset>(path, truth);
    if (!files_.empty()) {
      require_same_shape(first(), *file);
      if (file->shape().input_type != first().shape().input_type) {
        fail_input(errors::data_mismatch,
                   "{}: its inputs are {}, those of {} {}; all files must have one type", path,
                   name_of(file->shape().input_type), first().path(), name_of(first().shape().input_type));
      }
      const std::vector<std::string> notes = match_columns(meaning_of(first()), *file);
      notes_.insert(notes_.end(), notes.begin(), notes.end());
    }
    files_.push_back(std::move(file));
  }
  first_samples_.push_back(0);
  for (const auto& file : files_) first_samples_.push_back(first_samples_.back() + file->samples());
  shape_ = first().shape();
  shape_.samples = first_samples_.back();
}

ConcatenatedStore::Piece ConcatenatedStore::piece(std::int64_t first, std::int64_t count,
                                                  std::int64_t skipped) const {
  const std::int64_t sample = first + skipped;
  const auto after = std::upper_bound(first_samples_.begin(), first_samples_.end() - 1, sample);
  const auto file = static_cast<std::size_t>(after - first_samples_.begin()) - 1;
  const std::int64_t end = std::min(first + count, first_samples_[file + 1]);
  return {files_[file].get(), {sample - first_samples_[file], end - sample}, skipped};
}

template <class Read>
void ConcatenatedStore::for_each_piece(std::int64_t first, std::int64_t count, const Read& read) const {
  for (std::int64_t skipped = 0; skipped < count;) {
    const Piece each = piece(first, count, skipped);
    read(each);
    skipped += each.part.count;
  }
}

void ConcatenatedStore::reorder(const ColumnOrder& inputs, const ColumnOrder& targets) {
  for (const auto& file : files_) file->reorder(inputs, targets);
}

std::string ConcatenatedStore::location_of_input(std::int64_t sample, std::int64_t column) const {
  const Piece at = piece(sample, 1, 0);
  return at.file->location_of_input(at.part.first, column);
}

std::string ConcatenatedStore::location_of_target(std::int64_t sample, std::int64_t column) const {
  const Piece at = piece(sample, 1, 0);
  return at.file->location_of_target(at.part.first, column);
}

void ConcatenatedStore::read_inputs(std::int64_t first, std::int64_t count, void* destination) const {
  for_each_piece(first, count, [&](const Piece& each) {
    each.file->read_inputs(each.part.first, each.part.count,
                           static_cast<std::byte*>(destination) + each.skipped * shape_.input_bytes());
  });
}

void ConcatenatedStore::read_labels(std::int64_t first, std::int64_t count, std::int32_t* destination) const {
  for_each_piece(first, count, [&](const Piece& each) {
    each.file->read_labels(each.part.first, each.part.count, destination + each.skipped);
  });
}

void ConcatenatedStore::read_targets(std::int64_t first, std::int64_t count, float* destination) const {
  for_each_piece(first, count, [&](const Piece& each) {
    each.file->read_targets(each.part.first, each.part.count, destination + each.skipped * outputs());
  });
}

template <class StatisticsOf>
ColumnStatistics ConcatenatedStore::statistics_of(Split part, const StatisticsOf& of_file) const {
  std::vector<ColumnStatistics> parts;
  std::vector<std::int64_t> rows;
  for_each_piece(part.first, part.count, [&](const Piece& each) {
    parts.push_back(of_file(each));
    rows.push_back(each.part.count);
  });
  return combined(parts, rows);
}

ColumnStatistics ConcatenatedStore::input_statistics(Split part) const {
  return statistics_of(part, [](const Piece& each) { return each.file->input_statistics(each.part); });
}

ColumnStatistics ConcatenatedStore::target_statistics(Split part) const {
  return statistics_of(part, [](const Piece& each) { return each.file->target_statistics(each.part); });
}

std::optional<ColumnStatistics> ConcatenatedStore::prepared_input_statistics() const {
  std::vector<ColumnStatistics> parts;
  std::vector<std::int64_t> rows;
  for (const auto& file : files_) {
    auto of_file = file->prepared_input_statistics();
    if (!of_file) return std::nullopt;
    parts.push_back(*std::move(of_file));
    rows.push_back(file->samples());
  }
  return combined(parts, rows);
}

std::string ConcatenatedStore::identity() const {
  Xxh128 digest;
  for (const auto& file : files_) {
    const std::string text = file->identity() + '\n';
    digest.update(text.data(), text.size());
  }
  return digest.digest();
}

std::int64_t ConcatenatedStore::reading_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& file : files_) bytes += file->reading_bytes();
  return bytes;
}

void ConcatenatedStore::require_valid_values() const {
  for (const auto& file : files_) file->require_valid_values();
}

void ConcatenatedStore::require_label(std::int64_t row, std::int32_t label) const {
  const Piece at = piece(row, 1, 0);
  at.file->require_label(at.part.first, label);
}

}  // namespace mylos
