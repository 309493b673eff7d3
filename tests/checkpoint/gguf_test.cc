// GGUF in memory: what is read, and every rule of the format that a file can break.
#include <cmath>
#include <limits>

#include "checkpoint/checkpoint_testing.h"
#include "checkpoint/gguf.h"

namespace sluice::testing {
namespace {

Opened open_gguf_bytes(const std::string& bytes) { return open_files({{"m.gguf", bytes}}); }
Opened open_written(const GgufWriter& writer) { return open_gguf_bytes(writer.bytes()); }

TEST(Gguf, TensorsHaveTheOutermostDimensionFirst) {
  std::string data;
  for (int i = 0; i < 24; ++i) data += le(static_cast<float>(i));
  const Opened opened = open_written(GgufWriter().ones("a", 3).tensor("b.weight", {2, 3, 4}, 0, data));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const Checkpoint& c = **opened;
  EXPECT_EQ(c.kind(), CheckpointKind::kGguf);
  EXPECT_EQ(c.path(), "mem/m.gguf");
  ASSERT_EQ(c.tensors().size(), 2U);
  EXPECT_EQ(c.tensors()[0].name, "a");  // file order
  const TensorInfo* b = c.find("b.weight");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->shape, (std::vector<std::int64_t>{4, 3, 2}));
  EXPECT_EQ(b->elements(), 24);
  EXPECT_EQ(b->dtype, DType::kF32);
  EXPECT_EQ(b->file, "mem/m.gguf");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(b->data.data()), b->data.size()), data);
  EXPECT_EQ(c.find("b"), nullptr);
  EXPECT_TRUE(c.config().is_null());
  EXPECT_TRUE(c.generation_config().is_null());
  EXPECT_TRUE(c.side_files().empty());
  EXPECT_TRUE(c.warnings().empty());
}

TEST(Gguf, VersionTwoIsReadAsThree) {
  GgufWriter writer;
  writer.version = 2;
  const Opened opened = open_written(writer.text("general.architecture", "llama").ones("a", 8));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ((*opened)->get_string("general.architecture").value(), "llama");
  EXPECT_EQ((*opened)->find("a")->data.size(), 32U);
}

TEST(Gguf, OtherVersionsAndByteOrdersAreNamed) {
  GgufWriter writer;
  for (const std::uint32_t version : {0U, 1U, 4U, 99U}) {
    writer.version = version;
    EXPECT_TRUE(
        fails(open_written(writer), ErrorCode::kUnsupported, {"mem/m.gguf", "version", std::to_string(version)}));
  }
  for (const std::uint32_t version : {2U, 3U}) {
    writer.version = version << 24U;
    EXPECT_TRUE(
        fails(open_written(writer), ErrorCode::kUnsupported, {"version " + std::to_string(version), "big-endian"}));
  }
}

TEST(Gguf, EveryTypeOfValueIsRead) {
  const std::string bools("\1\0\1", 3);
  const Opened opened = open_written(GgufWriter()
                                         .raw("u8", kTypeU8, le<std::uint8_t>(200))
                                         .raw("i8", kTypeI8, le<std::int8_t>(-7))
                                         .raw("u16", kTypeU16, le<std::uint16_t>(60000))
                                         .raw("i16", kTypeI16, le<std::int16_t>(-300))
                                         .u32("u32", 4000000000U)
                                         .i32("i32", -5)
                                         .raw("f32", kTypeF32, le(0.5F))
                                         .raw("yes", kTypeBool, std::string(1, '\1'))
                                         .raw("no", kTypeBool, std::string(1, '\0'))
                                         .text("text", "caf\xC3\xA9\n")
                                         .raw("u64", kTypeU64, le(std::numeric_limits<std::uint64_t>::max()))
                                         .raw("i64", kTypeI64, le(std::numeric_limits<std::int64_t>::min()))
                                         .raw("f64", kTypeF64, le(0.1))
                                         .array("a.u16", kTypeU16, 2, le<std::uint16_t>(1) + le<std::uint16_t>(65535))
                                         .array("a.i32", kTypeI32, 1, le<std::int32_t>(-1))
                                         .array("a.f32", kTypeF32, 1, le(2.5F))
                                         .array("a.bool", kTypeBool, 3, bools)
                                         .array("a.text", kTypeString, 2, gguf_string("x") + gguf_string(""))
                                         .array("a.none", kTypeString, 0, ""));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const Checkpoint& c = **opened;
  EXPECT_EQ(c.get_uint("u8").value(), 200U);
  EXPECT_EQ(std::get<std::int64_t>(c.get("i8")->value), -7);
  EXPECT_EQ(c.get_uint("u16").value(), 60000U);
  EXPECT_EQ(std::get<std::int64_t>(c.get("i16")->value), -300);
  EXPECT_EQ(c.get_uint("u32").value(), 4000000000U);
  EXPECT_EQ(std::get<std::int64_t>(c.get("i32")->value), -5);
  EXPECT_EQ(c.get_float("f32").value(), 0.5);
  EXPECT_EQ(c.get_bool("yes").value(), true);
  EXPECT_EQ(c.get_bool("no").value(), false);
  EXPECT_EQ(c.get_string("text").value(), "caf\xC3\xA9\n");
  EXPECT_EQ(c.get_uint("u64").value(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(std::get<std::int64_t>(c.get("i64")->value), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(c.get_float("f64").value(), 0.1);
  const auto array = [&](const char* key) -> const MetaArray& { return std::get<MetaArray>(c.get(key)->value); };
  EXPECT_EQ(std::get<std::vector<std::uint64_t>>(array("a.u16")), (std::vector<std::uint64_t>{1, 65535}));
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(array("a.i32")), (std::vector<std::int64_t>{-1}));
  EXPECT_EQ(std::get<std::vector<double>>(array("a.f32")), (std::vector<double>{2.5}));
  EXPECT_EQ(std::get<std::vector<bool>>(array("a.bool")), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(std::get<std::vector<std::string_view>>(array("a.text")), (std::vector<std::string_view>{"x", ""}));
  EXPECT_TRUE(std::get<std::vector<std::string_view>>(array("a.none")).empty());
}

TEST(Gguf, LookUpsNameKeyWantedAndFound) {
  const Opened opened = open_written(GgufWriter()
                                         .u32("n", 5)
                                         .i32("plus", 6)
                                         .i32("minus", -5)
                                         .text("t", "x")
                                         .raw("f", kTypeF32, le(1.5F))
                                         .raw("nan", kTypeF32, le(std::nanf("")))
                                         .raw("inf", kTypeF64, le(std::numeric_limits<double>::infinity()))
                                         .raw("b", kTypeBool, std::string(1, '\1'))
                                         .array("a", kTypeString, 0, ""));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const Checkpoint& c = **opened;
  EXPECT_EQ(c.get_uint("absent").value(), std::nullopt);
  EXPECT_EQ(c.get_float("absent").value(), std::nullopt);
  EXPECT_EQ(c.get_bool("absent").value(), std::nullopt);
  EXPECT_EQ(c.get_string("absent").value(), std::nullopt);
  EXPECT_EQ(c.get("absent"), nullptr);
  EXPECT_EQ(c.get_uint("plus").value(), 6U);
  EXPECT_EQ(c.get_float("n").value(), 5.0);
  EXPECT_EQ(c.get_float("minus").value(), -5.0);
  EXPECT_TRUE(fails(c.get_uint("minus"), ErrorCode::kCorrupt, {"mem/m.gguf", "minus", "-5", "not negative"}));
  EXPECT_TRUE(fails(c.get_uint("f"), ErrorCode::kCorrupt, {"mem/m.gguf", " f ", "floating-point", "an integer"}));
  EXPECT_TRUE(fails(c.get_uint("b"), ErrorCode::kCorrupt, {" b ", "boolean", "integer"}));
  EXPECT_TRUE(fails(c.get_float("nan"), ErrorCode::kCorrupt, {"nan", "finite"}));
  EXPECT_TRUE(fails(c.get_float("inf"), ErrorCode::kCorrupt, {"inf", "finite"}));
  EXPECT_TRUE(fails(c.get_float("t"), ErrorCode::kCorrupt, {" t ", "string", "a number"}));
  EXPECT_TRUE(fails(c.get_bool("n"), ErrorCode::kCorrupt, {" n ", "unsigned integer", "boolean"}));
  EXPECT_TRUE(fails(c.get_string("a"), ErrorCode::kCorrupt, {" a ", "array of strings", "a string"}));
}

TEST(Gguf, AlignmentIsKept) {
  for (const std::uint32_t alignment : {8U, 64U, 4096U}) {
    GgufWriter writer;
    writer.set_alignment(alignment).ones("a", 3).ones("b", 5);
    const Opened opened = open_written(writer);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    for (const char* name : {"a", "b"}) {
      float value = 0;
      std::memcpy(&value, (*opened)->find(name)->data.data(), sizeof value);
      EXPECT_EQ(value, 1.0F) << name << " at alignment " << alignment;
    }
  }
}

TEST(Gguf, WrongAlignmentsAreRefused) {
  for (const std::uint32_t alignment : {0U, 1U, 4U, 24U, 33U, 0x80000001U}) {
    EXPECT_TRUE(fails(open_written(GgufWriter().u32("general.alignment", alignment)), ErrorCode::kCorrupt,
                      {"general.alignment", std::to_string(alignment), "power of two"}));
  }
  EXPECT_TRUE(fails(open_written(GgufWriter().text("general.alignment", "32")), ErrorCode::kCorrupt,
                    {"general.alignment", "string"}));
  // So large that the data begin past the end of the file.
  EXPECT_TRUE(fails(open_written(GgufWriter().u32("general.alignment", 1U << 31U).ones("a", 8)), ErrorCode::kCorrupt,
                    {"tensor a", "past the end"}));
}

TEST(Gguf, AFileWithoutTensorsIsFine) {
  std::string bytes = GgufWriter().text("general.type", "vocab").bytes();
  while (bytes.back() == '\0') bytes.pop_back();  // also where it ends before the padding
  const Opened opened = open_gguf_bytes(bytes);
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_TRUE((*opened)->tensors().empty());
}

TEST(Gguf, QuantisedTensorsHaveTheSizeOfTheirBlocks) {
  const std::string two_rows(2UL * 144, '\7');  // Q4_K: 256 values in 144 bytes
  const Opened opened = open_written(GgufWriter().tensor("q", {256, 2}, 12, two_rows).ones("a", 8));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ((*opened)->find("q")->dtype, DType::kQ4_K);
  EXPECT_EQ((*opened)->find("q")->data.size(), two_rows.size());
  EXPECT_TRUE(fails(open_written(GgufWriter().tensor("q", {255, 2}, 12, two_rows)), ErrorCode::kCorrupt,
                    {"tensor q", "255", "Q4_K", "256"}));
}

TEST(Gguf, TypesThatAreNotReadAreNamed) {
  // Withdrawn, for activations only, of a fork, unknown, Sluice's own (which no file may use), and beyond int32.
  for (const std::uint32_t type : {4U, 5U, 9U, 15U, 31U, 38U, 139U, 1000U, 1001U, 1234U, 0xFFFFFFFFU}) {
    EXPECT_TRUE(fails(open_written(GgufWriter().tensor("x", {32}, type, std::string(256, '\0'))),
                      ErrorCode::kUnsupported, {"tensor x", "type id " + std::to_string(type)}));
  }
}

TEST(Gguf, ShapesAreBounded) {
  constexpr std::uint64_t kBig = std::uint64_t{1} << 32U;
  const auto open_shape = [](const std::vector<std::uint64_t>& dims, std::uint32_t type) {
    return open_written(GgufWriter().tensor("x", dims, type, std::string(64, '\0')));
  };
  EXPECT_TRUE(fails(open_shape({}, 0), ErrorCode::kCorrupt, {"tensor x", "0 dimensions"}));
  EXPECT_TRUE(fails(open_shape({1, 1, 1, 1, 1}, 0), ErrorCode::kCorrupt, {"tensor x", "5 dimensions"}));
  EXPECT_TRUE(fails(open_shape({4, 0}, 0), ErrorCode::kCorrupt, {"tensor x", "dimension 2", "is 0"}));
  EXPECT_TRUE(
      fails(open_shape({std::uint64_t{1} << 63U}, 24), ErrorCode::kCorrupt, {"tensor x", "9223372036854775808"}));
  EXPECT_TRUE(fails(open_shape({kBig, kBig}, 0), ErrorCode::kCorrupt, {"tensor x", "overflow"}));
  // Elements overflow where bytes do not: Q1_0 has 18 bytes for 128 values.
  EXPECT_TRUE(fails(open_shape({kBig, kBig / 2}, 41), ErrorCode::kCorrupt, {"tensor x", "overflow"}));
  EXPECT_TRUE(fails(open_shape({kBig, 1024}, 0), ErrorCode::kCorrupt, {"tensor x", "past the end"}));
}

TEST(Gguf, DataMustLieInTheFileAlignedAndApart) {
  const auto open_at = [](std::uint64_t offset) {
    return open_written(GgufWriter().ones("a", 64).tensor_at("x", {8}, 0, offset));
  };
  EXPECT_TRUE(fails(open_at(33), ErrorCode::kCorrupt, {"tensor x", "33", "alignment"}));
  EXPECT_TRUE(fails(open_at(256), ErrorCode::kCorrupt, {"tensor x", "past the end"}));
  EXPECT_TRUE(fails(open_at(~std::uint64_t{31}), ErrorCode::kCorrupt, {"tensor x", "past the end"}));
  EXPECT_TRUE(fails(open_at(0), ErrorCode::kCorrupt, {"a and x overlap"}));
  EXPECT_TRUE(fails(open_at(224), ErrorCode::kCorrupt, {"a and x overlap"}));
  // Gaps and any order are fine.
  GgufWriter writer;
  writer.tensor_at("late", {8}, 0, 192).tensor_at("early", {8}, 0, 0).tensor_at("middle", {8}, 0, 64);
  EXPECT_TRUE(open_gguf_bytes(writer.bytes() + std::string(224, '\1')).ok());
}

TEST(Gguf, NamesMustBeTextAndUnique) {
  EXPECT_TRUE(fails(open_written(GgufWriter().ones("a", 8).ones("a", 8)), ErrorCode::kCorrupt, {"tensor a", "twice"}));
  EXPECT_TRUE(fails(open_written(GgufWriter().u32("k", 1).u32("k", 1)), ErrorCode::kCorrupt, {" k ", "twice"}));
  EXPECT_TRUE(fails(open_written(GgufWriter().ones("", 8)), ErrorCode::kCorrupt, {"name of tensor 1"}));
  EXPECT_TRUE(fails(open_written(GgufWriter().ones("a\nb", 8)), ErrorCode::kCorrupt, {"a\\x0Ab"}));
  EXPECT_TRUE(fails(open_written(GgufWriter().ones("\xFF\xFE", 8)), ErrorCode::kCorrupt, {"\\xFF\\xFE"}));
  EXPECT_TRUE(
      fails(open_written(GgufWriter().ones(std::string(65, 'n'), 8)), ErrorCode::kCorrupt, {"name", "65", "64"}));
  EXPECT_TRUE(open_written(GgufWriter().ones(std::string(64, 'n'), 8)).ok());
  EXPECT_TRUE(fails(open_written(GgufWriter().u32("", 1)), ErrorCode::kCorrupt, {"key of metadata pair 1"}));
  EXPECT_TRUE(fails(open_written(GgufWriter().u32("\x1B[31m", 1)), ErrorCode::kCorrupt, {"\\x1B"}));
  EXPECT_TRUE(
      fails(open_written(GgufWriter().u32(std::string(65536, 'k'), 1)), ErrorCode::kCorrupt, {"length", "65535"}));
}

TEST(Gguf, HostileCountsAreRefusedBeforeAnythingIsReserved) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 61U;
  for (const std::uint32_t type : {kTypeU8, kTypeU32, kTypeF64, kTypeBool, kTypeString}) {
    EXPECT_TRUE(
        fails(open_written(GgufWriter().array("many", type, kHuge, "")), ErrorCode::kCorrupt, {"many", "array"}));
  }
  EXPECT_TRUE(
      fails(open_written(GgufWriter().array("deep", kTypeArray, 1, "")), ErrorCode::kUnsupported, {"deep", "nested"}));
  EXPECT_TRUE(fails(open_written(GgufWriter().array("odd", 13, 1, "")), ErrorCode::kCorrupt, {"odd", "13"}));
  EXPECT_TRUE(fails(open_written(GgufWriter().raw("odd", 13, "")), ErrorCode::kCorrupt, {"odd", "13"}));
  EXPECT_TRUE(
      fails(open_written(GgufWriter().raw("b", kTypeBool, "\2")), ErrorCode::kCorrupt, {" b ", "boolean", "2"}));
  EXPECT_TRUE(fails(open_written(GgufWriter().array("b", kTypeBool, 2, std::string("\1\3", 2))), ErrorCode::kCorrupt,
                    {" b ", "boolean", "3"}));
}

TEST(Gguf, ArraysTogetherAreBounded) {
  // Two arrays of bytes of 2^21 + 1 elements: each may be there, both pass the bound of 2^22.
  const std::string half((std::size_t{1} << 21U) + 1, '\1');
  EXPECT_TRUE(open_written(GgufWriter().array("one", kTypeU8, half.size(), half)).ok());
  EXPECT_TRUE(fails(
      open_written(GgufWriter().array("one", kTypeU8, half.size(), half).array("two", kTypeI8, half.size(), half)),
      ErrorCode::kResource, {"two", "4194304"}));
}

TEST(Gguf, ParsesBytesWithoutAFolder) {
  const std::string bytes = GgufWriter().u32("n", 1).ones("a", 8).bytes();
  const Result<GgufFile> file = parse_gguf(std::as_bytes(std::span(bytes)), "label");
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file->version, 3U);
  EXPECT_EQ(file->metadata.size(), 1U);
  EXPECT_EQ(file->tensors.front().file, "label");
}

}  // namespace
}  // namespace sluice::testing
