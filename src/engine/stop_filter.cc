#include "engine/stop_filter.h"

#include <algorithm>
#include <utility>

namespace sluice {

StopFilter::StopFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string StopFilter::push(std::string_view text) {
  if (found_) return {};
  held_ += text;
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
  if (first != std::string::npos) {
    found_ = true;
    held_.resize(first);
    return std::exchange(held_, {});
  }
  // Keep the longest suffix that is a beginning of some stop string.
  std::size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > keep; --n) {
      if (held_.ends_with(std::string_view(stop).substr(0, n))) keep = n;
    }
  }
  std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, out.size());
  return out;
}

std::string StopFilter::flush() { return std::exchange(held_, {}); }

}  // namespace sluice
