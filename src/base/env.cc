#include "base/env.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace sluice {
namespace {

Error io_error(const std::string& path, const char* what, int error) {
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Error(code, fmt::format("{}: cannot {}: {}", path, what, std::generic_category().message(error)));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

class MappedFile final : public Bytes {
 public:
  MappedFile(void* address, std::size_t size) : address_(address), size_(size) {}
  ~MappedFile() override {
    if (address_ != nullptr) ::munmap(address_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> span() const override { return {static_cast<const std::byte*>(address_), size_}; }

  void will_need(std::size_t offset, std::size_t length) const override {
    if (address_ == nullptr || offset >= size_) return;
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t begin = offset / page * page;
    const std::size_t end = length < size_ - offset ? offset + length : size_;
    ::madvise(static_cast<std::byte*>(address_) + begin, end - begin, MADV_WILLNEED);
  }

  std::optional<std::size_t> resident() const override {
    if (address_ == nullptr) return 0;
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages((size_ + page - 1) / page);
    if (::mincore(address_, size_, pages.data()) != 0) return std::nullopt;
    const auto count = std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1U) != 0; });
    return std::min(size_, static_cast<std::size_t>(count) * page);
  }

 private:
  void* address_;
  std::size_t size_;
};

class SystemEnv final : public Env {
 public:
  Result<std::shared_ptr<const Bytes>> map(const std::string& path) override {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return io_error(path, "open", errno);
    struct stat info = {};
    if (::fstat(file.get(), &info) != 0) return io_error(path, "stat", errno);
    if (!S_ISREG(info.st_mode)) return Error(ErrorCode::kInvalidArgument, path + ": not a regular file");
    const auto size = static_cast<std::size_t>(info.st_size);
    void* address = nullptr;
    if (size > 0) {
      address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
      if (address == MAP_FAILED) return io_error(path, "map", errno);
    }
    return std::shared_ptr<const Bytes>(std::make_shared<MappedFile>(address, size));
  }

  Result<std::string> read_text(const std::string& path, std::size_t max_bytes) override {
    SLUICE_ASSIGN(const std::shared_ptr<const Bytes> bytes, map(path));
    const auto data = bytes->span();
    if (data.size() > max_bytes) {
      return Error(ErrorCode::kResource,
                   fmt::format("{}: {} bytes, more than the limit of {}", path, data.size(), max_bytes));
    }
    std::string text(data.size(), '\0');
    if (!data.empty()) std::memcpy(text.data(), data.data(), data.size());
    return text;
  }

  bool is_file(const std::string& path) override {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error);
  }

  bool is_directory(const std::string& path) override {
    std::error_code error;
    return std::filesystem::is_directory(path, error);
  }

  Result<std::vector<std::string>> list(const std::string& path) override {
    std::error_code error;
    std::vector<std::string> names;
    std::filesystem::directory_iterator it(path, error);
    if (error) return io_error(path, "list", error.value());
    // A failed step leaves the iterator at the end.
    for (const std::filesystem::directory_iterator end; it != end; it.increment(error)) {
      names.push_back(it->path().filename().string());
    }
    if (error) return io_error(path, "list", error.value());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::optional<std::string> variable(const std::string& name) override {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  }

  std::chrono::steady_clock::time_point now() override { return std::chrono::steady_clock::now(); }
};

class BorrowedBytes final : public Bytes {
 public:
  explicit BorrowedBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> span() const override { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

class OwnedBytes final : public Bytes {
 public:
  explicit OwnedBytes(std::string text) : text_(std::move(text)) {}
  std::span<const std::byte> span() const override { return std::as_bytes(std::span(text_)); }

 private:
  std::string text_;
};

}  // namespace

Env& Env::system() {
  static SystemEnv env;
  return env;
}

std::shared_ptr<const Bytes> borrow_bytes(std::span<const std::byte> bytes) {
  return std::make_shared<BorrowedBytes>(bytes);
}

std::shared_ptr<const Bytes> own_bytes(std::string text) { return std::make_shared<OwnedBytes>(std::move(text)); }

}  // namespace sluice
