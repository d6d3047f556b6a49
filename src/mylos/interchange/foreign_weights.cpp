#include "mylos/interchange/foreign_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include "mylos/base/dtype_limits.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/file/weight_file.hpp"
#include "mylos/interchange/tensor_names.hpp"
#include "mylos/kernels/spectral/spectral.hpp"
#include "mylos/model/chain/short_forms.hpp"
#include "mylos/model/network/assumed_orders.hpp"

namespace mylos {
namespace {

TensorShape shape_as_read(const safetensors::Entry& entry) {
  TensorShape shape = entry.shape;
  if (entry.type == safetensors::complex_word) shape.push_back(2);
  return shape;
}

/// "[2, 3] C64", as the file has it.
std::string described(const safetensors::Entry& entry) {
  return fmt::format("{} {}", shape_text(entry.shape), entry.type);
}

/// Rows of texts in columns of equal width; the last column is not padded.
std::vector<std::string> aligned(const std::vector<std::array<std::string, 4>>& rows) {
  std::array<std::size_t, 3> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const auto& [theirs, shape, ours, how] : rows) {
    lines.push_back(fmt::format("  {:<{}}  {:<{}}  {:<{}}  {}", theirs, widths[0], shape, widths[1], ours,
                                widths[2], how));
  }
  return lines;
}

/// The length of a header that the file can have, and the JSON object that it is: whatever the file's name,
/// and though a length of 19,280 begins with "PK".
bool begins_as_safetensors(const std::string& path, std::string_view begin) {
  constexpr std::uintmax_t word = 8;
  std::error_code failure;
  const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
  if (failure || begin.size() <= word) return false;
  std::uint64_t header = 0;
  for (std::size_t i = word; i-- > 0;) header = header << 8 | static_cast<unsigned char>(begin[i]);
  return header <= bytes - word && begin[word] == '{';
}

/// Returns whether a spectral layer has an axis of odd extent other than the last.
bool has_odd_axis(const Chain& chain) {
  return std::any_of(chain.blocks.begin(), chain.blocks.end(), [](const auto& block) {
    const SpectralConvolution* spectral = block->spectral();
    if (spectral == nullptr) return false;
    const Extents& extent = spectral->shape().input.extent;
    // An axis that the grid lacks has one point and one wave number.
    return (extent[0] > 1 && extent[0] % 2 == 1) || (extent[1] > 1 && extent[1] % 2 == 1);
  });
}

[[noreturn]] void refuse_onnx(const std::string& path) {
  fail_input(
      errors::wrong_format,
      "{}: is an ONNX file, which states its network; `mylos convert NET.onnx NET.h5` reads it without "
      "--deck. For its weights alone, in Python:\n"
      "  import onnx, onnx.numpy_helper, safetensors.numpy; graph = onnx.load(\"{}\").graph\n"
      "  safetensors.numpy.save_file({{t.name: onnx.numpy_helper.to_array(t) for t in "
      "graph.initializer}}, \"net.safetensors\")",
      printable(path), printable(path));
}

}  // namespace

void refuse_other_formats(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) return;
  const std::string begin = file_text(path, 9);
  if (begins_as_safetensors(path, begin)) return;
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".onnx") refuse_onnx(path);
  const bool is_archive = begin.starts_with("PK\3\4");
  constexpr char last_protocol = 5;
  const bool is_pickle =
      begin.size() > 2 && begin[0] == '\x80' && begin[1] >= 1 && begin[1] <= last_protocol && begin[2] != 0;
  const bool is_named = ending == ".pt" || ending == ".pth" || ending == ".bin" || ending == ".pkl" ||
                        ending == ".ckpt" || ending == ".zip";
  if (!is_archive && !is_pickle && !is_named) return;
  fail_input(errors::wrong_format,
             "{}: is not a safetensors file, but one of torch.save or another program, which can hold "
             "programs and is not read. In Python:\n"
             "  import torch, safetensors.torch; state = torch.load(\"{}\", map_location=\"cpu\", "
             "weights_only=True)\n"
             "  safetensors.torch.save_file({{k: v.clone().contiguous() for k, v in state.items() if "
             "torch.is_tensor(v)}}, \"net.safetensors\", {{\"{}\": \"\\n\".join(state)}})",
             printable(path), printable(path), order_metadata);
}

ForeignWeights::ForeignWeights(const std::string& path, const std::string& map) : reader_(path) {
  if (reader_.metadata().contains(WeightMetadata::layout)) {
    fail_input(errors::wrong_format,
               "{}: was written by `mylos convert` and has the names of its network; `mylos init DECK OUT.h5 "
               "--from {}` reads it",
               printable(path), printable(path));
  }
  if (reader_.entries().empty()) {
    fail_input(errors::model_mismatch,
               "{}: has no tensors. A checkpoint of Lightning has them one level down: write those of "
               "torch.load(...)[\"state_dict\"], state = state[\"state_dict\"]",
               printable(path));
  }
  if (!map.empty()) map_ = read_weight_map(map);
  theirs_.file = printable(path);
  for (const safetensors::Entry& entry : reader_.entries())
    theirs_.tensors.push_back({entry.name, shape_as_read(entry), entry.type});
  const auto order = reader_.metadata().find(order_metadata);
  theirs_ = in_network_order(std::move(theirs_), order == reader_.metadata().end() ? "" : order->second);
}

const safetensors::Entry& ForeignWeights::entry(std::size_t theirs) const {
  return *reader_.find(theirs_.tensors[theirs].name);
}

void ForeignWeights::match(const ModelOptions& model, const Chain& chain) {
  ours_ = own_weights(expand_short_form(model), chain);
  matched_ = match_weights(ours_, theirs_, map_, model);
  orders_ = assumed_orders(model);
  const bool is_fno = std::any_of(theirs_.tensors.begin(), theirs_.tensors.end(),
                                  [](const TheirTensor& tensor) { return is_of_fno(tensor.name); });
  shifts_wave_numbers_ = is_fno && has_odd_axis(chain);
  for (std::size_t i = 0; i < matched_.matches.size(); ++i) {
    const WeightMatch& match = matched_.matches[i];
    reader_.require_roundable(entry(match.theirs));
    const bool is_complex = entry(match.theirs).type == safetensors::complex_word;
    if (is_complex && !match.form.is_complex) {
      fail_input(errors::unsupported_feature,
                 "{}: tensor '{}' holds complex numbers, which only spectral layers have as weights",
                 theirs_.file, printable(entry(match.theirs).name));
    }
    match_of_[ours_[match.ours].path] = i;
  }
  for (const UnusedTensor& unused : matched_.unused) {
    if (!unused.repeats) continue;
    if (reader_.read_rounded(entry(unused.theirs)) == reader_.read_rounded(entry(*unused.repeats))) continue;
    fail_input(errors::model_mismatch,
               "{}: tensor '{}' is not the token embedding, which the deck's network has as its head; set "
               "model.tied = false",
               theirs_.file, printable(entry(unused.theirs).name));
  }
}

std::vector<std::string> ForeignWeights::table() const {
  std::vector<std::array<std::string, 4>> rows{{"tensor", "shape", "parameter", "shape and how"}};
  for (const WeightMatch& match : matched_.matches) {
    const OwnWeight& own = ours_[match.ours];
    rows.push_back({printable(entry(match.theirs).name), described(entry(match.theirs)), own.path,
                    fmt::format("{} {}, by {}", shape_text(own.dims), match.form.how, name_of(match.by))});
  }
  for (const UnusedTensor& unused : matched_.unused)
    rows.push_back({printable(entry(unused.theirs).name), described(entry(unused.theirs)), "-", unused.why});
  std::vector<std::string> lines = aligned(rows);
  lines.insert(lines.end(), orders_.begin(), orders_.end());
  if (shifts_wave_numbers_) {
    lines.emplace_back(
        "note: neuraloperator 2.0.0 shifts wave numbers by one along axes of odd extent other than the last, "
        "which its fields have here: outputs differ from that version's. Its later versions do as Mylos "
        "does");
  }
  return lines;
}

std::vector<float> ForeignWeights::read(const std::string& parameter) {
  const WeightMatch& match = matched_.matches[match_of_.at(parameter)];
  const safetensors::Entry& from = entry(match.theirs);
  std::vector<float> values = reader_.read_rounded(from);
  const OwnWeight& own = ours_[match.ours];
  const auto largest = static_cast<float>(limits_of(own.type).largest);
  const float least = parameter.ends_with("/running_variance") ? 0 : -largest;
  const auto wrong = std::find_if_not(values.begin(), values.end(), [&](float value) {
    return value >= least && value <= largest;  // false of NaN
  });
  if (wrong != values.end()) {
    fail_input(errors::not_finite,
               "{}: tensor '{}' has {} as its element {} (counted from 0); {} takes numbers from {} to {}",
               theirs_.file, printable(from.name), *wrong, wrong - values.begin(), parameter, least, largest);
  }
  return in_our_order(match.form.axes, std::move(values));
}

}  // namespace mylos
