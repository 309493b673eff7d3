#include "engine/stop_filter.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

// Feeds text in pieces of every size; the result must not depend on them.
void expect_output(const std::vector<std::string>& stops, const std::string& text, const std::string& want,
                   bool found) {
  for (std::size_t piece = 1; piece <= text.size() + 1; ++piece) {
    StopFilter filter(stops);
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      out += filter.push(text.substr(at, piece));
      if (filter.found()) break;
    }
    if (!filter.found()) out += filter.flush();
    EXPECT_EQ(out, want) << "pieces of " << piece;
    EXPECT_EQ(filter.found(), found);
  }
}

TEST(StopFilter, CutsBeforeTheFirstStop) { expect_output({"END"}, "one END two END", "one ", true); }
TEST(StopFilter, APartOfAStopIsPrintedInTheEnd) { expect_output({"END"}, "one EN", "one EN", false); }
TEST(StopFilter, TheEarliestOfSeveralWins) { expect_output({"two", "one"}, "zero one two", "zero ", true); }
TEST(StopFilter, SelfOverlappingStops) { expect_output({"aab"}, "aaaab!", "aa", true); }
TEST(StopFilter, NoStopsPassEverythingAtOnce) {
  StopFilter filter({});
  EXPECT_EQ(filter.push("text"), "text");
}
TEST(StopFilter, EmptyStopsAreIgnored) { expect_output({""}, "text", "text", false); }
TEST(StopFilter, TextThatCannotBeAStopIsNotHeldBack) {
  StopFilter filter({"END"});
  EXPECT_EQ(filter.push("some E"), "some ");
  EXPECT_EQ(filter.push("lse"), "Else");
}

}  // namespace
}  // namespace sluice
