// Numbers and characters of the template language on their own.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tokenizer/template_number.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {
namespace {

TEST(TemplateNumber, IntegersAsText) {
  EXPECT_EQ(int_to_text(0), "0");
  EXPECT_EQ(int_to_text(kIntMax), "170141183460469231731687303715884105727");
  EXPECT_EQ(int_to_text(kIntMin), "-170141183460469231731687303715884105728");
  EXPECT_EQ(int_to_text(-255, 16), "-ff");
  EXPECT_EQ(int_to_text(5, 2), "101");
}

TEST(TemplateNumber, TextAsIntegers) {
  EXPECT_EQ(text_to_int(" -42\n"), Int{-42});
  EXPECT_EQ(text_to_int("170141183460469231731687303715884105727"), kIntMax);
  EXPECT_EQ(text_to_int("-170141183460469231731687303715884105728"), kIntMin);
  EXPECT_EQ(text_to_int("170141183460469231731687303715884105728"), std::nullopt);
  EXPECT_EQ(text_to_int("0x_ff", 16), Int{255});
  EXPECT_EQ(text_to_int("0b11", 0), Int{3});
  EXPECT_EQ(text_to_int("00", 0), Int{0});
  for (const char* wrong : {"", " ", "-", "+-1", "1__0", "_1", "1_", "1.0", "0x10", "1 2", "a"}) {
    EXPECT_EQ(text_to_int(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(text_to_int("007", 0), std::nullopt);
  EXPECT_EQ(text_to_int("8", 8), std::nullopt);
}

TEST(TemplateNumber, FloatsAsText) {
  EXPECT_EQ(float_to_text(0.0), "0.0");
  EXPECT_EQ(float_to_text(-0.0), "-0.0");
  EXPECT_EQ(float_to_text(0.1), "0.1");
  EXPECT_EQ(float_to_text(1e15), "1000000000000000.0");
  EXPECT_EQ(float_to_text(1e16), "1e+16");
  EXPECT_EQ(float_to_text(1.5e16), "1.5e+16");
  EXPECT_EQ(float_to_text(0.0001), "0.0001");
  EXPECT_EQ(float_to_text(0.00001), "1e-05");
  EXPECT_EQ(float_to_text(123456.789), "123456.789");
  EXPECT_EQ(float_to_text(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(float_to_text(-HUGE_VAL), "-inf");
  EXPECT_EQ(float_to_text(std::nan("")), "nan");
}

TEST(TemplateNumber, TextAsFloats) {
  EXPECT_EQ(text_to_float(" 1_0.5e1 "), 105.0);
  EXPECT_EQ(text_to_float("1e999"), HUGE_VAL);
  EXPECT_EQ(text_to_float("-1e999"), -HUGE_VAL);
  EXPECT_EQ(text_to_float("1e-999"), 0.0);
  EXPECT_EQ(text_to_float("Infinity"), HUGE_VAL);
  EXPECT_TRUE(std::isnan(*text_to_float("NaN")));
  for (const char* wrong : {"", "0x1p3", "1.2.3", "--1", "e5", "1e", "infinit", "1 2"}) {
    EXPECT_EQ(text_to_float(wrong), std::nullopt) << wrong;
  }
}

TEST(TemplateNumber, ComparisonIsExact) {
  const auto order = [](Value a, Value b) { return compare_numbers(a, b); };
  const Int odd = (Int{1} << 53) + 1;  // no double
  EXPECT_EQ(order(Value::integer(odd), Value::real(9007199254740992.0)), std::partial_ordering::greater);
  EXPECT_EQ(order(Value::real(9007199254740992.0), Value::integer(odd)), std::partial_ordering::less);
  EXPECT_EQ(order(Value::integer(2), Value::real(2.5)), std::partial_ordering::less);
  EXPECT_EQ(order(Value::integer(-2), Value::real(-2.5)), std::partial_ordering::greater);
  EXPECT_EQ(order(Value::integer(kIntMax), Value::real(1e300)), std::partial_ordering::less);
  EXPECT_EQ(order(Value::integer(kIntMin), Value::real(-0x1p127)), std::partial_ordering::equivalent);
  EXPECT_EQ(order(Value::integer(1), Value::real(std::nan(""))), std::partial_ordering::unordered);
  EXPECT_EQ(order(Value::boolean(true), Value::real(1.0)), std::partial_ordering::equivalent);
}

TEST(TemplateNumber, RoundingIsPythons) {
  EXPECT_EQ(round_float(2.675, 2), 2.67);  // 2.675 is a little less than it looks
  EXPECT_EQ(round_float(0.5, 0), 0.0);
  EXPECT_EQ(round_float(1.5, 0), 2.0);
  EXPECT_EQ(round_float(1250.0, -2), 1200.0);
  EXPECT_EQ(round_float(1e308, -308), 1e308);
  EXPECT_EQ(round_float(5.0, -400), 0.0);
  EXPECT_EQ(round_float(1e-300, 310), 1e-300);
}

TEST(TemplateUnicode, CharactersOfText) {
  EXPECT_EQ(count_code_points("aé世😀"), 4U);
  EXPECT_EQ(count_code_points("\xff\xe4\xb8"), 3U) << "each byte that is no UTF-8 counts";
  EXPECT_EQ(byte_offset("aé世😀", 3), 6U);
  EXPECT_EQ(byte_offset("abc", 9), 3U);
  EXPECT_EQ(decode_at("\xed\xa0\x80", 0).value, kInvalid) << "a surrogate";
  EXPECT_EQ(decode_at("\xf4\x90\x80\x80", 0).value, kInvalid) << "past U+10FFFF";
}

TEST(TemplateUnicode, SpaceIsPythons) {
  EXPECT_EQ(strip_space("\u3000\x1c a\u00a0b \u2028\x85"), "a\u00a0b \u2028\x85") << "a lone 0x85 is no UTF-8";
  EXPECT_EQ(strip_space("\u2028\u0085 x\u205f\t"), "x");
  EXPECT_EQ(strip_space("\u200b x\ufeff"), "\u200b x\ufeff") << "zero-width characters are no space";
  EXPECT_EQ(strip_space(" \n"), "");
}

TEST(TemplateUnicode, CaseMappingsGrow) {
  // Escapes: an editor that normalises would make one character of three.
  EXPECT_EQ(to_upper("straße \uFB03 \u0390 \u1FB3"), "STRASSE FFI \u0399\u0308\u0301 \u0391\u0399");
  EXPECT_EQ(to_lower("İΑΣ ΑΣΑ"), "i̇ας ασα");
  EXPECT_EQ(to_title("ǆx ﬁx"), "ǅx Fix");
  EXPECT_EQ(capitalize("ÉCOLE À"), "École à");
}

}  // namespace
}  // namespace sluice::jinja
