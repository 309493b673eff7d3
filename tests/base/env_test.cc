// The real operating system behind Env, and bytes that are not files.
#include "base/env.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace sluice {
namespace {

std::string text_of(const Bytes& bytes) {
  const auto span = bytes.span();
  return {reinterpret_cast<const char*>(span.data()), span.size()};
}

class SystemEnv : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "sluice_env_" + std::to_string(::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  Env& env_ = Env::system();
  std::string folder_;
};

TEST_F(SystemEnv, MapsAFile) {
  const std::string content(10000, 'x');
  const std::string path = write("f", content + "end");
  const auto bytes = env_.map(path);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message();
  EXPECT_EQ(text_of(**bytes), content + "end");
  (*bytes)->will_need(0, 100);
  (*bytes)->will_need(9999, std::numeric_limits<std::size_t>::max());
  (*bytes)->will_need(std::numeric_limits<std::size_t>::max(), 1);
  EXPECT_EQ((*bytes)->resident(), 10003U);  // it was read just now
}

TEST_F(SystemEnv, AMappingOutlivesItsName) {
  const std::string path = write("f", "content");
  const auto bytes = env_.map(path);
  ASSERT_TRUE(bytes.ok());
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(**bytes), "content");
}

TEST_F(SystemEnv, AnEmptyFileIsAnEmptySpan) {
  const auto bytes = env_.map(write("f", ""));
  ASSERT_TRUE(bytes.ok()) << bytes.error().message();
  EXPECT_TRUE((*bytes)->span().empty());
  EXPECT_EQ((*bytes)->resident(), 0U);
  (*bytes)->will_need(0, 1);
}

TEST_F(SystemEnv, WhatCannotBeMappedIsNamed) {
  const std::string missing = folder_ + "/missing";
  const auto not_there = env_.map(missing);
  ASSERT_FALSE(not_there.ok());
  EXPECT_EQ(not_there.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(not_there.error().message(), missing + ": cannot open: No such file or directory");

  const auto below_a_file = env_.map(write("f", "") + "/x");
  ASSERT_FALSE(below_a_file.ok());
  EXPECT_EQ(below_a_file.error().code(), ErrorCode::kNotFound);

  const auto folder = env_.map(folder_);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(folder.error().message(), folder_ + ": not a regular file");
}

TEST_F(SystemEnv, ReadsTextUpToABound) {
  const std::string path = write("f", std::string("a\0b", 3));
  EXPECT_EQ(env_.read_text(path, 3).value(), std::string("a\0b", 3));
  const auto refused = env_.read_text(path, 2);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kResource);
  EXPECT_EQ(refused.error().message(), path + ": 3 bytes, more than the limit of 2");
  EXPECT_EQ(env_.read_text(write("empty", ""), 0).value(), "");
  EXPECT_EQ(env_.read_text(folder_ + "/missing", 9).error().code(), ErrorCode::kNotFound);
}

TEST_F(SystemEnv, TellsFilesFromFolders) {
  const std::string path = write("f", "");
  std::filesystem::create_symlink(path, folder_ + "/link");
  std::filesystem::create_symlink(folder_ + "/missing", folder_ + "/dangling");
  EXPECT_TRUE(env_.is_file(path));
  EXPECT_TRUE(env_.is_file(folder_ + "/link"));
  EXPECT_FALSE(env_.is_file(folder_ + "/dangling"));
  EXPECT_FALSE(env_.is_file(folder_));
  EXPECT_FALSE(env_.is_file(folder_ + "/missing"));
  EXPECT_TRUE(env_.is_directory(folder_));
  EXPECT_FALSE(env_.is_directory(path));
  EXPECT_FALSE(env_.is_directory(folder_ + "/missing"));
}

TEST_F(SystemEnv, ListsNamesInOrder) {
  write("b", "");
  write("a", "");
  std::filesystem::create_directory(folder_ + "/c");
  EXPECT_EQ(env_.list(folder_).value(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(env_.list(folder_ + "/c").value(), std::vector<std::string>());
  const auto missing = env_.list(folder_ + "/missing");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message().find(folder_ + "/missing: cannot list"), std::string::npos);
}

TEST_F(SystemEnv, ReadsVariablesAndTime) {
  ::setenv("SLUICE_TEST_VARIABLE", "value", 1);
  EXPECT_EQ(env_.variable("SLUICE_TEST_VARIABLE"), "value");
  ::setenv("SLUICE_TEST_VARIABLE", "", 1);
  EXPECT_EQ(env_.variable("SLUICE_TEST_VARIABLE"), "");
  ::unsetenv("SLUICE_TEST_VARIABLE");
  EXPECT_EQ(env_.variable("SLUICE_TEST_VARIABLE"), std::nullopt);
  const auto before = env_.now();
  EXPECT_GE(env_.now(), before);
}

TEST(Bytes, BorrowedBytesPointAtTheOriginal) {
  const std::string text = "text";
  const auto bytes = borrow_bytes(std::as_bytes(std::span(text)));
  EXPECT_EQ(static_cast<const void*>(bytes->span().data()), text.data());
  EXPECT_EQ(bytes->span().size(), 4U);
  EXPECT_EQ(bytes->resident(), std::nullopt);
}

TEST(Bytes, OwnedBytesLiveOnTheirOwn) {
  std::string text(100, 'x');
  const auto bytes = own_bytes(text);
  text.assign(100, 'y');
  EXPECT_EQ(text_of(*bytes), std::string(100, 'x'));
}

}  // namespace
}  // namespace sluice
