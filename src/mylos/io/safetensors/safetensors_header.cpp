#include "mylos/io/safetensors/safetensors_header.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos::safetensors {
namespace {

using nlohmann::json;

constexpr std::size_t max_extents = 32;  // the limit of NumPy
constexpr std::string_view metadata_name = "__metadata__";

/// Parses the header event by event, so that only valid content is ever stored; nlohmann's own document would
/// keep the last of two equal names, and any depth of nesting.
class HeaderEvents final : public json::json_sax_t {
 public:
  explicit HeaderEvents(const std::string& path) : path_(path) {}
  [[nodiscard]] Header take() { return {std::move(entries_), std::move(metadata_)}; }

  bool start_object(std::size_t) override {
    if (scope_ == Scope::file) {
      scope_ = entry_.name == metadata_name ? Scope::metadata : Scope::tensor;
    } else if (scope_ == Scope::outside) {
      scope_ = Scope::file;
    } else {
      refuse("has an object where none belongs");
    }
    return true;
  }

  bool end_object() override {
    if (scope_ == Scope::tensor) {
      for (const char* field : {"dtype", "shape", "data_offsets"}) {
        if (!fields_.contains(field)) refuse(fmt::format("has no {}", field));
      }
      entries_.push_back(entry_);
    }
    scope_ = scope_ == Scope::file ? Scope::outside : Scope::file;
    return true;
  }

  bool key(std::string& name) override {
    if (scope_ == Scope::metadata) {
      field_ = name;
      return true;
    }
    if (scope_ == Scope::tensor) {
      field_ = name;
      if (name != "dtype" && name != "shape" && name != "data_offsets") {
        refuse(fmt::format("has an unknown field '{}'", printable(name)));
      }
      if (!fields_.insert(name).second) refuse(fmt::format("has two fields '{}'", name));
      return true;
    }
    entry_ = {.name = name, .type = {}, .shape = {}};
    fields_.clear();
    if (!names_.insert(name).second) refuse("is listed twice");
    return true;
  }

  bool start_array(std::size_t) override {
    if (scope_ != Scope::tensor || field_ == "dtype") refuse("has a list where none belongs");
    scope_ = field_ == "shape" ? Scope::shape : Scope::offsets;
    return true;
  }

  bool end_array() override {
    if (scope_ == Scope::offsets) {
      if (offsets_.size() != 2) refuse(fmt::format("has {} data_offsets, not 2", offsets_.size()));
      entry_.begin = offsets_[0];
      entry_.end = offsets_[1];
      offsets_.clear();
    }
    scope_ = Scope::tensor;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(largest)) refuse_number(fmt::format("{}", value));
    const auto number = static_cast<std::int64_t>(value);
    if (scope_ == Scope::shape) {
      if (entry_.shape.size() == max_extents) refuse(fmt::format("has more than {} extents", max_extents));
      entry_.shape.push_back(number);
    } else if (scope_ == Scope::offsets) {
      if (offsets_.size() == 2) refuse("has more than 2 data_offsets");
      offsets_.push_back(number);
    } else {
      refuse_number(fmt::format("{}", value));
    }
    return true;
  }

  bool string(std::string& text) override {
    if (scope_ == Scope::metadata) {
      metadata_.insert_or_assign(field_, text);
      return true;
    }
    if (scope_ != Scope::tensor || field_ != "dtype") refuse("has a text where none belongs");
    entry_.type = text;
    return true;
  }

  bool number_integer(std::int64_t value) override { refuse_number(fmt::format("{}", value)); }
  bool number_float(double, const std::string& text) override { refuse_number(text); }
  bool null() override { refuse("has a null where none belongs"); }
  bool boolean(bool) override { refuse("has a truth value where none belongs"); }
  bool binary(json::binary_t&) override { refuse("has bytes where none belong"); }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    fail_input(errors::damaged, "{}: its header is not JSON, from byte {} on", path_, position);
  }

 private:
  enum class Scope { outside, file, tensor, shape, offsets, metadata };

  [[noreturn]] void refuse(const std::string& problem) const {
    if (entry_.name.empty()) fail_input(errors::damaged, "{}: its header {}", path_, problem);
    fail_input(errors::damaged, "{}: tensor '{}' {}", path_, printable(entry_.name), problem);
  }
  [[noreturn]] void refuse_number(const std::string& number) const {
    if (scope_ != Scope::shape && scope_ != Scope::offsets) refuse("has a number where none belongs");
    refuse(fmt::format("has {} in its {}, which takes whole numbers from 0 to {}", printable(number), field_,
                       largest));
  }

  const std::string& path_;
  Scope scope_ = Scope::outside;
  std::set<std::string> names_;
  std::set<std::string, std::less<>> fields_;  // of this tensor
  std::string field_;
  std::vector<std::int64_t> offsets_;
  Entry entry_;
  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace

Header parse_header(std::string_view text, std::int64_t data_bytes, const std::string& path) {
  HeaderEvents events(path);
  json::sax_parse(text, &events);
  Header header = events.take();
  check_and_sort(header.entries, data_bytes, path);
  return header;
}

}  // namespace mylos::safetensors
