// safetensors in memory: what is read, and every rule of the format that a file can break.
#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include "checkpoint/allocation_probe.h"
#include "checkpoint/checkpoint_testing.h"

namespace sluice::testing {
namespace {

Opened open_bytes(const std::string& bytes) { return open_files({{"model.safetensors", bytes}}); }
Opened open_header(std::string_view header, std::size_t data_bytes = 64) {
  return open_bytes(safetensors(header, data_bytes));
}
// A header with one entry "a" of these fields.
Opened open_entry(std::string_view fields) { return open_header(fmt::format(R"({{"a":{{{}}}}})", fields)); }

TEST(Safetensors, ReadsTensorsInTheHeadersOrder) {
  const Opened opened = open_header(R"( {"__metadata__":{"format":"pt","n":"1"},
      "b.weight":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},
      "a":{"shape":[],"data_offsets":[0,8],"dtype":"F64"},
      "none":{"dtype":"F32","shape":[0,7],"data_offsets":[20,20]}}   )",
                                    20);
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const Checkpoint& c = **opened;
  EXPECT_EQ(c.kind(), CheckpointKind::kSafetensors);
  EXPECT_EQ(c.path(), "mem");
  ASSERT_EQ(c.tensors().size(), 3U);
  EXPECT_EQ(c.tensors()[0].name, "b.weight");
  EXPECT_EQ(c.tensors()[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(c.tensors()[0].dtype, DType::kBF16);
  EXPECT_EQ(c.tensors()[0].file, "mem/model.safetensors");
  EXPECT_EQ(std::to_integer<int>(c.tensors()[0].data[0]), 8);
  EXPECT_EQ(c.find("a")->elements(), 1);
  EXPECT_TRUE(c.find("a")->shape.empty());
  EXPECT_EQ(c.find("none")->elements(), 0);
  EXPECT_TRUE(c.find("none")->data.empty());
  EXPECT_EQ(c.find("__metadata__"), nullptr);
  EXPECT_TRUE(c.metadata().empty());
  EXPECT_TRUE(c.warnings().empty());
}

TEST(Safetensors, EveryElementTypeHasItsSize) {
  const std::vector<std::tuple<const char*, DType, int>> types = {
      {"F64", DType::kF64, 8},         {"F32", DType::kF32, 4},  {"F16", DType::kF16, 2}, {"BF16", DType::kBF16, 2},
      {"F8_E4M3", DType::kF8_E4M3, 1}, {"I64", DType::kI64, 8},  {"I32", DType::kI32, 4}, {"I16", DType::kI16, 2},
      {"I8", DType::kI8, 1},           {"U64", DType::kU64, 8},  {"U32", DType::kU32, 4}, {"U16", DType::kU16, 2},
      {"U8", DType::kU8, 1},           {"BOOL", DType::kBool, 1}};
  for (const auto& [name, dtype, size] : types) {
    const Opened opened =
        open_header(fmt::format(R"({{"a":{{"dtype":"{}","shape":[3],"data_offsets":[0,{}]}}}})", name, 3 * size));
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    EXPECT_EQ((*opened)->find("a")->dtype, dtype);
    EXPECT_EQ((*opened)->find("a")->data.size(), static_cast<std::size_t>(3 * size));
  }
}

TEST(Safetensors, OtherElementTypesAreNamed) {
  EXPECT_TRUE(fails(open_entry(R"("dtype":"F8_E5M2","shape":[4],"data_offsets":[0,4])"), ErrorCode::kUnsupported,
                    {"tensor a", "F8_E5M2", "unsupported"}));
  EXPECT_TRUE(fails(open_entry(R"("dtype":"F31","shape":[4],"data_offsets":[0,4])"), ErrorCode::kCorrupt,
                    {"tensor a", "F31", "unknown", "BF16"}));
  EXPECT_TRUE(fails(open_entry(R"("dtype":"f32","shape":[4],"data_offsets":[0,16])"), ErrorCode::kCorrupt, {"f32"}));
}

TEST(Safetensors, TheHeaderMustBeAnObjectOfObjects) {
  for (const char* header : {"[1, 2]", "1", "-1", "1.5", "null", "true", "\"text\""}) {
    EXPECT_TRUE(fails(open_header(header), ErrorCode::kCorrupt, {"model.safetensors", "header"})) << header;
  }
  for (const char* value : {"[]", "1", "-1", "1.5", "null", "true", "\"text\""}) {
    EXPECT_TRUE(fails(open_header(fmt::format(R"({{"a":{}}})", value)), ErrorCode::kCorrupt, {"header", "entry a"}))
        << value;
  }
  for (const char* header : {"{", "{}}", "{\"a\"}", "{'a':1}", "{\"a\":F32}", "{} x", "  ", "{\"\\ud800\":1}"}) {
    EXPECT_TRUE(fails(open_header(header), ErrorCode::kCorrupt, {"header", "JSON"})) << header;
  }
  EXPECT_TRUE(fails(open_header(std::string_view("{}\0\0", 4)), ErrorCode::kCorrupt, {"header", "JSON", "byte 3"}));
  EXPECT_TRUE(fails(open_header(""), ErrorCode::kCorrupt, {"header", "empty"}));
  EXPECT_TRUE(fails(open_header("{\"\xFF\":1}"), ErrorCode::kCorrupt, {"header", "UTF-8"}));
}

TEST(Safetensors, AnEmptyHeaderIsAFileWithoutTensors) {
  const Opened opened = open_header("{}", 0);
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_TRUE((*opened)->tensors().empty());
}

TEST(Safetensors, FieldsMustBeThereOnceAndOfTheirType) {
  EXPECT_TRUE(fails(open_entry(R"("shape":[4],"data_offsets":[0,16])"), ErrorCode::kCorrupt, {"tensor a", "dtype"}));
  EXPECT_TRUE(fails(open_entry(R"("dtype":"F32","data_offsets":[0,16])"), ErrorCode::kCorrupt, {"tensor a", "shape"}));
  EXPECT_TRUE(fails(open_entry(R"("dtype":"F32","shape":[4])"), ErrorCode::kCorrupt, {"tensor a", "data_offsets"}));
  for (const char* field : {R"("dtype":"F32")", R"("shape":[4])", R"("data_offsets":[0,16])"}) {
    EXPECT_TRUE(fails(open_entry(fmt::format(R"("dtype":"F32","shape":[4],"data_offsets":[0,16],{})", field)),
                      ErrorCode::kCorrupt, {"tensor a", "twice"}))
        << field;
  }
  for (const char* value : {"1", "null", "[]", "{}", "true", "0.5", "-1"}) {
    EXPECT_TRUE(fails(open_entry(fmt::format(R"("dtype":{})", value)), ErrorCode::kCorrupt, {"dtype of tensor a"}))
        << value;
  }
  for (const char* value : {"1", "null", "\"x\"", "{}", "[\"x\"]", "[[1]]", "[{}]", "[-1]", "[1.0]", "[null]", "[true]",
                            "[9223372036854775808]", "[18446744073709551616]"}) {
    EXPECT_TRUE(fails(open_entry(fmt::format(R"("shape":{})", value)), ErrorCode::kCorrupt, {"shape of tensor a"}))
        << value;
    EXPECT_TRUE(
        value == std::string_view("[9223372036854775808]") ||
        fails(open_entry(fmt::format(R"("data_offsets":{})", value)), ErrorCode::kCorrupt, {"data_offsets of tensor a"})
            .
            operator bool())
        << value;
  }
  for (const char* value : {"[]", "[0]", "[0,16,32]"}) {
    EXPECT_TRUE(fails(open_entry(fmt::format(R"("dtype":"F32","shape":[4],"data_offsets":{})", value)),
                      ErrorCode::kCorrupt, {"data_offsets of tensor a", "pair"}))
        << value;
  }
}

TEST(Safetensors, UnknownFieldsAreSkipped) {
  const Opened opened = open_entry(
      R"("x":1,"y":[[1,{"dtype":"F31"}],[]],"dtype":"F32","z":{"shape":[9],"s":{}},"shape":[4],"data_offsets":[0,16])");
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ((*opened)->find("a")->shape, (std::vector<std::int64_t>{4}));
  const Opened odd_metadata = open_header(R"({"__metadata__":{"a":[1,[2]],"b":{"c":{}},"n":null},"a":)"
                                          R"({"dtype":"U8","shape":[64],"data_offsets":[0,64]}})");
  ASSERT_TRUE(odd_metadata.ok()) << odd_metadata.error().message();
  EXPECT_EQ((*odd_metadata)->tensors().size(), 1U);
}

TEST(Safetensors, NestingIsBounded) {
  for (const char* prefix : {R"({"__metadata__":{"x":)", R"({"a":{"x":)"}) {
    EXPECT_TRUE(fails(open_header(prefix + std::string(100000, '[')), ErrorCode::kResource, {"header", "nested"}));
    std::string objects = prefix;
    for (int i = 0; i < 1000; ++i) objects += "{\"x\":";
    EXPECT_TRUE(fails(open_header(objects), ErrorCode::kResource, {"header", "nested"}));
  }
  EXPECT_TRUE(fails(open_header(R"({"a":)" + std::string(100000, '[')), ErrorCode::kCorrupt, {"header"}));
  EXPECT_TRUE(fails(open_header(std::string(100000, '[')), ErrorCode::kCorrupt, {"header"}));
}

TEST(Safetensors, ShapeAndOffsetsMustAgree) {
  EXPECT_TRUE(fails(open_entry(R"("dtype":"F32","shape":[4,5],"data_offsets":[0,64])"), ErrorCode::kCorrupt,
                    {"tensor a", "80", "64"}));
  EXPECT_TRUE(fails(open_entry(R"("dtype":"F32","shape":[4],"data_offsets":[16,0])"), ErrorCode::kCorrupt,
                    {"tensor a", "reversed"}));
  EXPECT_TRUE(fails(open_entry(R"("dtype":"F32","shape":[32],"data_offsets":[0,128])"), ErrorCode::kCorrupt,
                    {"tensor a", "past the end"}));
  EXPECT_TRUE(
      fails(open_entry(R"("dtype":"U8","shape":[4],"data_offsets":[18446744073709551611,18446744073709551615])"),
            ErrorCode::kCorrupt, {"tensor a", "past the end"}));
  EXPECT_TRUE(fails(open_entry(R"("dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,64])"),
                    ErrorCode::kCorrupt, {"tensor a", "overflow"}));
  EXPECT_TRUE(fails(open_entry(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])"),
                    ErrorCode::kCorrupt, {"tensor a", "overflow"}));
  EXPECT_TRUE(fails(open_entry(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4])"),
                    ErrorCode::kCorrupt, {"tensor a", "8 dimensions"}));
}

TEST(Safetensors, NamesMustBeTextAndUnique) {
  constexpr const char* kEntry = R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})";
  const auto two = [&](const char* first, const char* second, int begin) {
    return open_header("{" + fmt::format(fmt::runtime(kEntry), first, 32, 0, 32) + "," +
                       fmt::format(fmt::runtime(kEntry), second, 64 - begin, begin, 64) + "}");
  };
  EXPECT_TRUE(two("a", "b", 32).ok());
  EXPECT_TRUE(fails(two("a", "a", 32), ErrorCode::kCorrupt, {"tensor a", "twice"}));
  EXPECT_TRUE(fails(two("a", "\\u0061", 32), ErrorCode::kCorrupt, {"tensor a", "twice"}));
  EXPECT_TRUE(fails(two("a", "b", 31), ErrorCode::kCorrupt, {"a and b overlap"}));
  EXPECT_TRUE(fails(two("a", "x\\ny", 32), ErrorCode::kCorrupt, {"x\\x0Ay"}));
  EXPECT_TRUE(fails(two("a", "", 32), ErrorCode::kCorrupt, {"header", "''"}));
}

TEST(Safetensors, BytesThatBelongToNoTensorAreReported) {
  const Opened opened = open_entry(R"("dtype":"U8","shape":[8],"data_offsets":[8,16])");
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  ASSERT_EQ((*opened)->warnings().size(), 1U);
  EXPECT_TRUE(is_good_message((*opened)->warnings()[0], {"mem/model.safetensors", "56 bytes"}));
}

TEST(Safetensors, LengthsOfTheHeaderAreChecked) {
  const std::string rest = R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  for (const std::uint64_t length :
       {std::uint64_t{55}, std::uint64_t{1} << 62U, ~std::uint64_t{3}, ~std::uint64_t{0}}) {
    EXPECT_TRUE(
        fails(open_bytes(le(length) + rest), ErrorCode::kCorrupt, {"header", std::to_string(length), "truncated"}));
  }
  for (std::size_t size = 0; size < 8; ++size) {
    EXPECT_TRUE(fails(open_bytes(std::string(size, 'x')), ErrorCode::kCorrupt, {"truncated"}));
  }
}

// 60 000 names take 8 MB of header; what is allowed for is bounded by what reading it may allocate.
TEST(Safetensors, ManyTensorsAreIndexedAndTooMuchHeaderIsRefused) {
  std::string header = "{";
  constexpr int kCount = 60000;
  for (int i = 0; i < kCount; ++i) {
    header += fmt::format(
        R"({}"model.layers.{}.mlp.experts.{}.down_proj.weight":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})",
        i == 0 ? "" : ",", i / 384, i % 384, i, i + 1);
  }
  header += "}";
  const AllocationProbe probe;
  const Opened opened = open_header(header, kCount);
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ((*opened)->tensors().size(), static_cast<std::size_t>(kCount));
  EXPECT_NE((*opened)->find("model.layers.100.mlp.experts.77.down_proj.weight"), nullptr);
  EXPECT_LE(probe.largest(), std::size_t{64} << 20U);

  const std::string long_name = R"({"__metadata__":{"x":")" + std::string((std::size_t{48} << 20U) - 100, 'x') + "\"}}";
  const std::string long_header = safetensors(long_name, 0);
  const std::string longer_header = safetensors(long_name + std::string(200, ' '), 0);
  const auto parse = [](const std::string& bytes) { return parse_safetensors(std::as_bytes(std::span(bytes)), "f"); };
  const AllocationProbe long_probe;
  EXPECT_TRUE(parse(long_header).ok());
  EXPECT_TRUE(fails(parse(longer_header), ErrorCode::kResource, {"header", "50331648"}));
  EXPECT_LE(long_probe.largest(), std::size_t{64} << 20U);
}

}  // namespace
}  // namespace sluice::testing
