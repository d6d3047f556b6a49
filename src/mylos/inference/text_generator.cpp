#include "mylos/inference/text_generator.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/tensor_views.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {
namespace {

template <class T>
using HostValues = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

}  // namespace

TextGenerator::TextGenerator(const InferenceContext& context, const ModelOptions& options,
                             std::int64_t vocabulary, std::span<const std::int32_t> prompt,
                             const DrawOptions& draw)
    : context_(context),
      vocabulary_(vocabulary),
      draw_(draw),
      cache_(options, context.model.chain()),
      on_host_(static_cast<std::size_t>(context.model.chain().outputs())) {
  if (prompt.empty()) fail_input(errors::bad_argument, "the prompt is empty; it needs at least one token");
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || prompt[i] >= vocabulary) {
      fail_input(errors::unknown_token, "token {} (counted from 0) of the prompt is {}, expected 0 to {}", i,
                 prompt[i], vocabulary - 1);
    }
  }
  const auto room = static_cast<std::size_t>(cache_.capacity());
  const auto last = prompt.last(std::min(prompt.size(), room));
  window_.assign(last.begin(), last.end());

  const std::size_t token_bytes = aligned_bytes(room * sizeof(std::int32_t));
  arena_ = Arena("generation", token_bytes + aligned_bytes(on_host_.size() * sizeof(float)));
  tokens_ = arena_.tensor(0, DType::int32, cache_.capacity(), 1);
  logits_ = arena_.tensor(token_bytes, DType::fp32, 1, context.model.chain().outputs());
}

std::int32_t TextGenerator::next() {
  const auto room = static_cast<std::size_t>(cache_.capacity());
  if (window_.size() > room) {
    const std::size_t half = std::max<std::size_t>(1, room / 2);
    window_.erase(window_.begin(), window_.end() - static_cast<std::ptrdiff_t>(half));
    cache_.clear();
  }
  const std::span<const float> logits = logits_of_next();
  window_.push_back(draw_(logits, drawn_++));
  return window_.back();
}

std::span<const float> TextGenerator::logits_of_next() {
  const std::int64_t known = cache_.length();
  const std::int64_t rows = static_cast<std::int64_t>(window_.size()) - known;
  const Tensor tokens = tokens_.row_range(0, rows);
  Kokkos::deep_copy(tokens.flat<std::int32_t>(),
                    HostValues<const std::int32_t>(window_.data() + known, static_cast<std::size_t>(rows)));
  const StepContext step{
      .exec = context_.exec, .engines = context_.engines, .training = false, .cache = &cache_};
  context_.model.forward(step, tokens);
  convert(context_.exec, context_.model.head_outputs(step, rows - 1, 1), logits_);
  context_.exec.fence("logits of the next token");
  Kokkos::deep_copy(HostValues<float>(on_host_.data(), on_host_.size()), logits_.flat<float>());
  return std::span<const float>(on_host_).first(static_cast<std::size_t>(vocabulary_));
}

}  // namespace mylos
