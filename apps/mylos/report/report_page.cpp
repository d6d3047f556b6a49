#include "report_page.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "page_parts.hpp"

namespace mylos::app {
namespace {

/// The page's template names its parts, each once: {{style}}.
void put(std::string& page, std::string_view name, std::string_view part) {
  const std::size_t offset = page.find(name);
  if (offset == std::string::npos) fail_run(errors::internal, "the page's template has no {}", name);
  page.replace(offset, name.size(), part);
}

}  // namespace

std::string report_page(const ordered_json& document) {
  std::string page(page_html);
  // Replaces from the end to the beginning, because an inserted part may contain such a name.
  put(page, "{{script}}", page_script);
  put(page, "{{data}}", script_text(document));
  put(page, "{{style}}", page_style);
  return page;
}

}  // namespace mylos::app
