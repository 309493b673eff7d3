// Names from files in messages.
#include "checkpoint/text.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Printable, TextStaysAndTheRestIsEscaped) {
  EXPECT_EQ(printable("blk.0.attn_q.weight"), "blk.0.attn_q.weight");
  EXPECT_EQ(printable("caf\xC3\xA9 \xF0\x9F\x8C\x8A"), "caf\xC3\xA9 \xF0\x9F\x8C\x8A");
  EXPECT_EQ(printable("a\nb\t\x1B[0m\x7F"), "a\\x0Ab\\x09\\x1B[0m\\x7F");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xC2\x85"), "\\xC2\\x85");           // NEL
  EXPECT_EQ(printable("\xE2\x80\xA8"), "\\xE2\\x80\\xA8");  // line separator
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, WhatIsNotUtf8IsEscaped) {
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x8C"}) {
    const std::string text = printable(bad);
    EXPECT_EQ(text.substr(0, 2), "\\x") << text;
    EXPECT_FALSE(is_clean_name(bad)) << text;
  }
}

TEST(Printable, LongTextIsCutAtACharacter) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("ab\xC3\xA9\xC3\xA9", 3), "ab\xC3\xA9...");
  EXPECT_LT(printable(std::string(100000, '\xFF')).size(), 110U);
}

TEST(CleanName, IsTextWithoutControls) {
  EXPECT_TRUE(is_clean_name("tokenizer.ggml.tokens"));
  EXPECT_TRUE(is_clean_name("caf\xC3\xA9"));
  EXPECT_TRUE(is_clean_name(""));
  EXPECT_FALSE(is_clean_name("a\nb"));
  EXPECT_FALSE(is_clean_name(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace sluice
