// What the tests of checkpoints share: folders in memory, and what is expected of an error.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_writer.h"

namespace sluice::testing {

using Files = std::map<std::string, std::shared_ptr<const Bytes>, std::less<>>;
using Opened = Result<std::shared_ptr<const Checkpoint>>;

// Opens a folder in memory, called "mem", with these files (name, content).
inline Opened open_files(const std::vector<std::pair<std::string, std::string>>& files) {
  Files folder;
  for (const auto& [name, content] : files) folder.emplace(name, own_bytes(content));
  return open_checkpoint_memory(folder, "mem");
}

inline std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// One line for people: not empty, no line break, short, with all of `words` (in any case).
inline ::testing::AssertionResult is_good_message(const std::string& message, const std::vector<std::string>& words) {
  if (message.empty()) return ::testing::AssertionFailure() << "the message is empty";
  if (message.size() > 600) return ::testing::AssertionFailure() << message.size() << " bytes are no line";
  for (const char c : message) {
    if (static_cast<unsigned char>(c) < 0x20)
      return ::testing::AssertionFailure() << "control character in: " << message;
  }
  for (const std::string& word : words) {
    if (lower(message).find(lower(word)) == std::string::npos) {
      return ::testing::AssertionFailure() << "no '" << word << "' in: " << message;
    }
  }
  return ::testing::AssertionSuccess();
}

// The result is an error of this code whose message is good.
template <typename T>
::testing::AssertionResult fails(const Result<T>& result, ErrorCode code, const std::vector<std::string>& words) {
  if (result.ok()) return ::testing::AssertionFailure() << "no error";
  if (result.error().code() != code) {
    return ::testing::AssertionFailure() << "error code " << static_cast<int>(result.error().code())
                                         << " for: " << result.error().message();
  }
  return is_good_message(result.error().message(), words);
}

// A safetensors file of this header (text) and so many bytes of data, counting up.
inline std::string safetensors(std::string_view header, std::size_t data_bytes) {
  std::string out = le<std::uint64_t>(header.size()) + std::string(header);
  for (std::size_t i = 0; i < data_bytes; ++i) out += static_cast<char>(i);
  return out;
}
// One F32 tensor of 4 elements.
inline std::string one_tensor(std::string_view name) {
  return safetensors("{\"" + std::string(name) + R"(":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 16);
}

}  // namespace sluice::testing
