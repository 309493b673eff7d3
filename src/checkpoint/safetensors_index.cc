// model.safetensors.index.json: {"metadata": {...}, "weight_map": {tensor: file}}.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/json_text.h"
#include "checkpoint/limits.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/text.h"

namespace sluice {
namespace {

class IndexHandler final : public JsonHandler {
 public:
  explicit IndexHandler(const std::string& file) : JsonHandler(file, "the index") {}

  bool seen_map() const { return seen_map_; }
  std::vector<std::pair<std::string, std::uint32_t>> take_tensors() { return std::move(tensors_); }
  const std::map<std::string, std::uint32_t, std::less<>>& files() const { return files_; }

  bool null() { return other_value("null"); }
  bool boolean(bool /*value*/) { return other_value("a boolean"); }
  bool number_integer(std::int64_t /*value*/) { return other_value("a number"); }
  bool number_unsigned(std::uint64_t /*value*/) { return other_value("a number"); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return other_value("a number"); }
  bool string(std::string& text) {
    if (!in_map()) return other_value("a string");
    if (text.empty() || text.find('/') != std::string::npos || !is_clean_name(text)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the index puts tensor {} in the file '{}', wanted the name of a file in the same folder",
                              printable(key_), printable(text)));
    }
    if (tensors_.size() == kMaxTensors) {
      return fail(ErrorCode::kResource, fmt::format("the index has more than {} tensors", kMaxTensors));
    }
    const auto number = static_cast<std::uint32_t>(files_.size());
    const std::uint32_t file = files_.emplace(text, number).first->second;
    tensors_.emplace_back(std::move(key_), file);
    return true;
  }

  bool start_object(std::size_t /*size*/) {
    if (depth_ == 1 && key_ == "weight_map") {
      if (seen_map_) return corrupt("the index has weight_map twice");
      seen_map_ = true;
      map_depth_ = 2;
      return enter();
    }
    return other_value("an object") && enter();
  }
  bool start_array(std::size_t /*size*/) {
    if (depth_ == 0) return corrupt("the index is an array, wanted a JSON object");
    return other_value("an array") && enter();
  }
  bool end_object() { return leave(); }
  bool end_array() { return leave(); }
  bool key(std::string& text) {
    key_ = std::move(text);
    return true;
  }

 private:
  bool in_map() const { return map_depth_ != 0 && depth_ == map_depth_; }

  // Anything but a string; harmless outside of the map.
  bool other_value(std::string_view found) {
    if (in_map()) {
      return corrupt(fmt::format("the index gives {} for tensor {}, wanted a file's name", found, printable(key_)));
    }
    if (depth_ == 1 && key_ == "weight_map") return corrupt(fmt::format("weight_map is {}, wanted an object", found));
    return true;
  }
  bool enter() {
    if (++depth_ <= kMaxJsonDepth) return true;
    return fail(ErrorCode::kResource, fmt::format("the index is nested more than {} deep", kMaxJsonDepth));
  }
  bool leave() {
    if (depth_ == map_depth_) map_depth_ = 0;
    --depth_;
    return true;
  }

  std::vector<std::pair<std::string, std::uint32_t>> tensors_;
  std::map<std::string, std::uint32_t, std::less<>> files_;  // number by name, in the order of appearance
  std::string key_;
  int depth_ = 0;
  int map_depth_ = 0;  // depth inside weight_map while there, else 0
  bool seen_map_ = false;
};

}  // namespace

Result<SafetensorsIndex> parse_safetensors_index(std::string_view text, const std::string& file) {
  if (text.size() > kMaxHeaderBytes) {
    return Error(ErrorCode::kResource, fmt::format("{}: the index has {} bytes, more than the limit of {}", file,
                                                   text.size(), kMaxHeaderBytes));
  }
  IndexHandler handler(file);
  SLUICE_TRY(JsonHandler::run(text, handler));
  SafetensorsIndex index;
  index.tensors = handler.take_tensors();
  if (!handler.seen_map() || index.tensors.empty()) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: the index names no tensors: weight_map is missing or empty", file));
  }
  // From numbers by appearance to numbers by name.
  std::vector<std::uint32_t> sorted_number(handler.files().size());
  for (const auto& [name, number] : handler.files()) {
    sorted_number[number] = static_cast<std::uint32_t>(index.files.size());
    index.files.push_back(name);
  }
  for (auto& [name, number] : index.tensors) number = sorted_number[number];
  std::sort(index.tensors.begin(), index.tensors.end());
  for (std::size_t i = 1; i < index.tensors.size(); ++i) {
    if (index.tensors[i - 1].first == index.tensors[i].first) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("{}: the index has tensor {} twice", file, printable(index.tensors[i].first)));
    }
  }
  return index;
}

}  // namespace sluice
