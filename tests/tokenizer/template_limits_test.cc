// Hostile templates and conversations end in an Error of kResource: no crash, no long run, no large memory.
#include <chrono>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tokenizer/chat_template.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Result<std::string> render(const std::string& source, const Json& variables = Json::object(),
                           const TemplateLimits& limits = {}) {
  auto compiled = ChatTemplate::compile(source, limits);
  if (!compiled.ok()) return compiled.error();
  return compiled.value()->render(variables);
}

std::string repeat(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

// The limits of users; a step under a sanitizer takes thirty times as long, and there are fewer of them.
TemplateLimits usual_limits() {
  TemplateLimits limits;
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  limits.max_steps /= 20;
#endif
#endif
  return limits;
}

// The error must be one of bounds, and come soon: the bound of steps is worth a few seconds at most.
void expect_bound(const std::string& source, const Json& variables = Json::object()) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = render(source, variables, usual_limits());
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::string shown = source.substr(0, 200);
  ASSERT_FALSE(result.ok()) << shown;
  EXPECT_EQ(result.error().code(), ErrorCode::kResource) << shown << "\n" << result.error().message();
  EXPECT_LT(seconds, 60) << shown;
}

TEST(TemplateLimits, LoopsEnd) {
  const std::string loop = "{% for a in range(100000) %}";
  expect_bound(loop + loop + "{% endfor %}{% endfor %}");
  expect_bound(loop + loop + "x{% endfor %}{% endfor %}");
  expect_bound("{% for a in range(100001) %}{% endfor %}");
  expect_bound("{{ range(10 ** 30) }}");
  expect_bound("{{ range(-(10 ** 18), 10 ** 18) | list }}");
}

TEST(TemplateLimits, MacrosEnd) {
  expect_bound("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
  expect_bound("{% macro m(n) %}{% for i in range(9) %}{{ m(n + 1) }}{% endfor %}{% endmacro %}{{ m(0) }}");
  expect_bound(
      "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{% if true %}{{ a() }}{% endif %}{% endmacro %}{{ a() }}");
  expect_bound("{% macro m() %}{{ caller() }}{% call m() %}{% endcall %}{% endmacro %}{% call m() %}x{% endcall %}");
  expect_bound("{% macro m() %}{{ m(" + repeat("(", 40) + "m()" + repeat(")", 40) + ") }}{% endmacro %}{{ m() }}");
  expect_bound("{% macro m(n=m()) %}{% endmacro %}{{ m() }}");
}

TEST(TemplateLimits, StringsAndListsStaySmall) {
  expect_bound("{{ 'x' * 10 ** 12 }}");
  expect_bound("{{ 'x' * 10 ** 30 }}");
  expect_bound("{{ [0] * 10 ** 12 }}");
  expect_bound("{{ 10 ** 12 * [0, 1] }}");
  expect_bound("{{ ('x' * 10 ** 6).replace('x', 'y' * 10 ** 6) }}");
  expect_bound("{{ ('x' * 10 ** 6).replace('', 'y' * 10 ** 6) }}");
  expect_bound("{{ ('y' * 10 ** 6).join('x' * 10 ** 6) }}");
  expect_bound("{{ ('x' * 10 ** 6) | join('y' * 10 ** 6) }}");
  expect_bound("{{ 'x'.center(10 ** 12) }}{{ 'x'.zfill(10 ** 12) }}");
  expect_bound("{{ 'x'.zfill(10 ** 30) }}");
  expect_bound("{{ '\t'.expandtabs(10 ** 12) }}");
  expect_bound("{{ '%1000000000000d' % 1 }}");
  expect_bound("{{ '%.1000000000000f' % 1 }}");
  expect_bound("{{ '%.15000000f' % 1 }}");
  expect_bound("{{ '%*d' % (10 ** 15, 1) }}");
  expect_bound("{{ '{:1000000000000}'.format(1) }}");
  expect_bound("{{ '{:{}}'.format(1, 10 ** 12) }}");
  expect_bound("{{ ('\n' * 10 ** 6) | indent(10 ** 6, blank=true) }}");
  expect_bound("{{ 'x' | indent(10 ** 12) }}");
  expect_bound("{{ [[1]] | tojson(indent=10 ** 12) }}");
  expect_bound("{{ range(100000) | list | tojson(separators=('x' * 10 ** 6, '')) }}");
  expect_bound("{{ [1] | batch(10 ** 12, 0) | list }}");
  expect_bound("{{ [1] | slice(10 ** 12) | list }}");
  expect_bound("{{ strftime_now('%100000d') }}");
  expect_bound("{% set x = 'x' * 10 ** 7 %}{{ x ~ x }}");
  expect_bound("{% set x = 'x' * 10 ** 7 %}{{ x }}{{ x }}");
  expect_bound("{% set x %}{% for i in range(10000) %}" + repeat("y", 5000) + "{% endfor %}{% endset %}");
}

TEST(TemplateLimits, MemoryIsBounded) {
  expect_bound("{% set ns = namespace(x=['x']) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}");
  expect_bound("{% set l = [] %}{% for i in range(100) %}{% set _ = l.append('x' * 10 ** 7) %}{% endfor %}");
  expect_bound("{% set l = ['x'] %}{% for i in range(99) %}{% set _ = l.extend(l) %}{% endfor %}");
  expect_bound(
      "{% set d = {} %}{% for i in range(10000) %}{% for j in range(10000) %}{% set _ = d.update({i * 10000 + j: i}) %}"
      "{% endfor %}{% endfor %}");
  expect_bound("{% set x = 'ab' * 10 ** 6 %}{% for i in range(100) %}{% set _ = (x | list, x | list) %}{% endfor %}");
}

// Data that is small in memory but large when walked: every walk counts.
TEST(TemplateLimits, SharedDataIsWalkedWithinBounds) {
  const std::string twice =
      "{% set ns = namespace(x=[0], y=[0]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
      "{% set ns.y = [ns.y, ns.y] %}{% endfor %}";
  expect_bound(twice + "{{ ns.x }}");
  expect_bound(twice + "{{ ns.x | tojson }}");
  expect_bound(twice + "{{ ns.x == ns.y }}");
  expect_bound(twice + "{{ ns.x < ns.y }}");
  expect_bound(twice + "{{ [ns.x] | string }}");
}

TEST(TemplateLimits, CyclesAndDepthEnd) {
  expect_bound("{% set l = [] %}{% set _ = l.append(l) %}{{ l }}");
  expect_bound("{% set l = [] %}{% set _ = l.append(l) %}{{ l | tojson }}");
  expect_bound("{% set d = {} %}{% set _ = d.update(d=d) %}{{ d }}");
  expect_bound("{% set a = [] %}{% set b = [] %}{% set _ = a.append(b) %}{% set _ = b.append(a) %}{{ a == b }}");
  const std::string deep =
      "{% set ns = namespace(x=[], y=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}"
      "{% set ns.y = [ns.y] %}{% endfor %}";
  EXPECT_EQ(render(deep + "done").value(), "done") << "freeing must not recurse";
  expect_bound(deep + "{{ ns.x }}");
  expect_bound(deep + "{{ ns.x == ns.y }}");
  Json nested = 1;
  for (int i = 0; i < 100'000; ++i) nested = Json::array({std::move(nested)});
  Json variables;
  variables["x"] = std::move(nested);  // a copy would recurse
  EXPECT_EQ(render("{{ x }}", variables).error().code(), ErrorCode::kResource);
}

TEST(TemplateLimits, SourceDepthEnds) {
  for (const char* open :
       {"(", "[", "{1:", "-", "not ", "x(", "x[", "x if x else ", "1 if (", "[x for", "{'a': [", "x|f(", "+"}) {
    const auto result = ChatTemplate::compile("{{ " + repeat(open, 50'000));
    ASSERT_FALSE(result.ok()) << open;
    EXPECT_LT(result.error().message().size(), 300U);
  }
  expect_bound("{{ " + repeat("(", 5000) + "1" + repeat(")", 5000) + " }}");
  expect_bound(repeat("{% if x %}", 5000) + repeat("{% endif %}", 5000));
  expect_bound(repeat("{% for x in y %}", 5000) + repeat("{% endfor %}", 5000));
  expect_bound("{% set " + repeat("(", 5000) + "a" + repeat(")", 5000) + " = 1 %}");
  expect_bound("{{ x" + repeat(".y", 5000) + " }}");
  expect_bound("{{ x" + repeat("|upper", 5000) + " }}");
  expect_bound("{{ x" + repeat("()", 5000) + " }}");
  expect_bound("{{ x" + repeat("[0]", 5000) + " }}");
  expect_bound("{{ 1" + repeat(" is string == 1", 1) + repeat(" if 1", 5000) + " }}");
  expect_bound(repeat(" ", (1 << 20) + 1));
}

// What is long without being deep is fine.
TEST(TemplateLimits, LongIsNotDeep) {
  EXPECT_EQ(render("{{ 0" + repeat(" + 1", 20'000) + " }}").value(), "20000");
  EXPECT_EQ(render("{{ ''" + repeat(" ~ 'a'", 20'000) + " }}").value().size(), 20'000U);
  EXPECT_EQ(render("{{ 0" + repeat(" or 0", 20'000) + " }}").value(), "0");
  EXPECT_EQ(render("{{ 0" + repeat(" < 1", 1) + repeat(" == 1", 20'000) + " }}").value(), "True");
  EXPECT_EQ(render("{% if 0 %}" + repeat("{% elif 0 %}", 20'000) + "{% else %}x{% endif %}").value(), "x");
  EXPECT_EQ(render(repeat("{{ 'a' }}", 20'000)).value().size(), 20'000U);
}

TEST(TemplateLimits, SlowFunctionsCount) {
  const std::string text = "{% set a = 'a' * 10 ** 6 %}{% set b = 'a' * 5 * 10 ** 5 ~ 'b' %}";
  expect_bound(text + "{% for i in range(100000) %}{{ '' if b in a }}{% endfor %}");
  expect_bound(text + "{% for i in range(100000) %}{% set _ = a.rfind(b) %}{% endfor %}");
  expect_bound(text + "{% for i in range(100000) %}{% set _ = a.count(b) %}{% endfor %}");
  expect_bound(text + "{% for i in range(100000) %}{% set _ = a.upper() %}{% endfor %}");
  expect_bound(text + "{% for i in range(100000) %}{% set _ = a.strip(b) %}{% endfor %}");
  expect_bound(text + "{% for i in range(100000) %}{% set _ = a | wordcount %}{% endfor %}");
  expect_bound("{% set l = range(100000) | list %}{% for i in l %}{% set _ = -1 in l %}{% endfor %}");
  expect_bound("{% set l = range(100000) | list %}{% for i in l %}{% set _ = l | sort %}{% endfor %}");
  expect_bound(
      "{% set l = range(100000) | list %}{% for i in l %}{% set _ = l.insert(0, 1) %}{% endfor %}{{ l.index(-1) }}");
}

TEST(TemplateLimits, IntegersDoNotWrap) {
  EXPECT_EQ(render("{{ 2 ** 126 }} {{ 2 ** 127 - 1 if false }}").value(), "85070591730234615865843651857942052864 ");
  expect_bound("{{ 2 ** 127 }}");
  expect_bound("{{ 2 ** 126 * 2 }}");
  expect_bound("{{ 2 ** 126 + 2 ** 126 }}");
  expect_bound("{{ -(2 ** 126) - 2 ** 126 - 1 }}");
  EXPECT_FALSE(render("{{ 999999999999999999999999999999999999999999 }}").ok());
  EXPECT_EQ(
      render("{{ 'abc'[-(2 ** 126):2 ** 126] }} {{ 'abc'[::-(2 ** 126)] }} {{ [1][2 ** 126] is defined }}").value(),
      "abc c False");
  EXPECT_EQ(render("{{ 2 ** 126 in range(5) }} {{ 1e300 in range(5) }} {{ 1e300 | int }} {{ 1e30 | int }}").value(),
            "False False 0 1000000000000000019884624838656");
}

TEST(TemplateLimits, LimitsAreTheCallers) {
  TemplateLimits limits;
  limits.max_output = 10;
  EXPECT_EQ(render("0123456789", Json::object(), limits).value(), "0123456789");
  EXPECT_EQ(render("0123456789a", Json::object(), limits).error().code(), ErrorCode::kResource);
  limits = {};
  limits.max_steps = 100;
  EXPECT_TRUE(render("{% for i in range(5) %}{{ i }}{% endfor %}", Json::object(), limits).ok());
  EXPECT_EQ(render("{% for i in range(50) %}{{ i }}{% endfor %}", Json::object(), limits).error().code(),
            ErrorCode::kResource);
  limits = {};
  limits.max_memory = 1 << 16;
  EXPECT_EQ(render("{{ x }}", {{"x", std::string(1 << 17, 'x')}}, limits).error().code(), ErrorCode::kResource);
  EXPECT_EQ(render("{{ y }}", {{"x", std::string(1 << 17, 'x')}}, limits).value(), "")
      << "only what is used is counted";
}

// Text that is no UTF-8 is kept, byte by byte, and never read past its end.
TEST(TemplateLimits, InvalidUtf8IsKept) {
  const Json variables = {{"x", "a\xff\xe4\xb8"}, {"y", "\xf0\x9f"}};
  EXPECT_EQ(render("{{ x }}|{{ x[::-1] }}|{{ x | length }}|{{ y.upper() }}|{{ y.strip(x) }}|{{ x.split(y) | length }}",
                   variables)
                .value(),
            "a\xff\xe4\xb8|\xb8\xe4\xff"
            "a|4|\xf0\x9f|\xf0\x9f|1");
  EXPECT_EQ(render("{{ [x] }} {{ y | tojson }}", variables).value(), "['a\\xff\\xe4\\xb8'] \"\uFFFD\uFFFD\"");
}

}  // namespace
}  // namespace sluice
