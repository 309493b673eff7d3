// Holds back text that may become a stop string, so that no part of one is ever printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class StopFilter {
 public:
  explicit StopFilter(std::vector<std::string> stops);

  // Adds text; returns what is safe to print. After found() nothing more comes out.
  std::string push(std::string_view text);
  // The text held back, once no more follows.
  std::string flush();
  bool found() const { return found_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool found_ = false;
};

}  // namespace sluice
