#include "comm/shared_group.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace sluice::comm {
namespace {

using Clock = std::chrono::steady_clock;

// A peer on another core answers within this many rounds; one that shares ours needs us to sleep.
constexpr int kSpins = 200;
// A sleeper looks this often whether the writer still lives.
constexpr std::chrono::milliseconds kLivenessInterval{20};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "flags are shared between processes");

std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

// Reached also after the counter wrapped around.
bool reached(std::uint32_t now, std::uint32_t epoch) { return static_cast<std::int32_t>(now - epoch) >= 0; }

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::milliseconds time) {
  const timespec limit = {.tv_sec = 0, .tv_nsec = time.count() * 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

// Whether a process has ended, also while nobody has reaped it. False where the system can't say: deadlines remain.
bool has_ended(pid_t pid) {
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd poll = {.fd = fd, .events = POLLIN, .revents = 0};
  const bool ended = ::poll(&poll, 1, 0) == 1;
  ::close(fd);
  return ended;
}

std::string agreed_text(std::span<const AgreedField> fields) {
  std::string text;
  for (const AgreedField& field : fields) text += fmt::format("{}\t{}\n", field.name, field.value);
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

struct SharedGroup::Control {
  std::atomic<pid_t> pid{0};
  std::atomic<bool> left{false};
  EpochFlag agreed;
  std::uint32_t agreed_bytes = 0;
  char text[kMaxAgreedBytes];  // NOLINT: lies in shared memory
};

Result<std::shared_ptr<SharedGroup>> SharedGroup::create(std::int32_t ranks, std::size_t window_bytes,
                                                         std::chrono::milliseconds deadline) {
  if (ranks < 1 || ranks > kMaxRanks || deadline.count() < 1) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("a group of {} ranks with a deadline of {} ms: 1 to {} ranks "
                                                          "and at least 1 ms are possible",
                                                          ranks, deadline.count(), kMaxRanks));
  }
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t limit = std::numeric_limits<std::int64_t>::max() / (2 * kMaxRanks);
  if (window_bytes > limit) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("a window of {} bytes per rank is too large", window_bytes));
  }
  const std::size_t window = round_up(window_bytes, page);
  const std::size_t bytes = static_cast<std::size_t>(ranks) * (window + round_up(sizeof(Control), page));
  const auto failed = [&](std::string_view call) {
    return Error(ErrorCode::kResource, fmt::format("{} bytes of shared memory for {} ranks: {}: {}", bytes, ranks, call,
                                                   std::generic_category().message(errno)));
  };
  const int fd = ::memfd_create("sluice-ep", MFD_CLOEXEC);
  if (fd < 0) return failed("memfd_create");
  void* memory = MAP_FAILED;
  if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  if (memory == MAP_FAILED) return failed("mmap");
  return std::shared_ptr<SharedGroup>(new SharedGroup(ranks, window, deadline, static_cast<std::byte*>(memory), bytes));
}

SharedGroup::SharedGroup(std::int32_t ranks, std::size_t window_bytes, std::chrono::milliseconds deadline,
                         std::byte* memory, std::size_t bytes)
    : ranks_(ranks), window_bytes_(window_bytes), deadline_(deadline), memory_(memory), bytes_(bytes) {
  for (std::int32_t rank = 0; rank < ranks; ++rank) new (&control(rank)) Control;
}

SharedGroup::~SharedGroup() { ::munmap(memory_, bytes_); }

std::span<std::byte> SharedGroup::window(std::int32_t rank) const {
  return {memory_ + static_cast<std::size_t>(rank) * window_bytes_, window_bytes_};
}

SharedGroup::Control& SharedGroup::control(std::int32_t rank) const {
  const std::size_t each =
      (bytes_ - static_cast<std::size_t>(ranks_) * window_bytes_) / static_cast<std::size_t>(ranks_);
  return *reinterpret_cast<Control*>(memory_ + static_cast<std::size_t>(ranks_) * window_bytes_ +
                                     static_cast<std::size_t>(rank) * each);
}

void SharedGroup::join(std::int32_t rank) { control(rank).pid.store(::getpid()); }

void SharedGroup::leave(std::int32_t rank) { control(rank).left.store(true); }

Status SharedGroup::agree(std::int32_t rank, std::span<const AgreedField> fields) {
  const std::string ours = agreed_text(fields);
  if (ours.size() > kMaxAgreedBytes) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the fields to agree on take {} bytes, at most {}", ours.size(), kMaxAgreedBytes));
  }
  Control& mine = control(rank);
  std::memcpy(mine.text, ours.data(), ours.size());
  mine.agreed_bytes = static_cast<std::uint32_t>(ours.size());
  publish(mine.agreed, 1);
  const std::vector<std::string_view> our_lines = lines_of(ours);
  for (std::int32_t other = 0; other < ranks_; ++other) {
    const Control& peer = control(other);
    SLUICE_TRY(wait(peer.agreed, 1, other, "the comparison of plans"));
    const std::string theirs(peer.text, std::min<std::size_t>(peer.agreed_bytes, kMaxAgreedBytes));
    if (theirs == ours) continue;
    const std::vector<std::string_view> their_lines = lines_of(theirs);
    for (std::size_t i = 0; i < std::max(our_lines.size(), their_lines.size()); ++i) {
      const std::string_view a = i < our_lines.size() ? our_lines[i] : "(nothing)";
      const std::string_view b = i < their_lines.size() ? their_lines[i] : "(nothing)";
      if (a == b) continue;
      const auto value = [](std::string_view line) { return line.substr(line.find('\t') + 1); };
      return Error(ErrorCode::kInvalidArgument, fmt::format("ranks {} and {} differ in {}: '{}' and '{}'", rank, other,
                                                            a.substr(0, a.find('\t')), value(a), value(b)));
    }
  }
  return Status::success();
}

void SharedGroup::publish(EpochFlag& flag, std::uint32_t epoch) {
  // Sequentially consistent with the sleeper's count: either we see the sleeper, or it sees the epoch.
  flag.epoch.store(epoch);
  if (flag.sleepers.load() != 0) futex_wake_all(flag.epoch);
}

Status SharedGroup::check_alive(std::int32_t rank, std::string_view what) const {
  const Control& peer = control(rank);
  const pid_t pid = peer.pid.load();
  std::string_view fate;
  if (peer.left.load()) {
    fate = "has left the group";
  } else if (pid != 0 && pid != ::getpid() && has_ended(pid)) {
    fate = "has died";
  }
  if (fate.empty()) return Status::success();
  return Error(ErrorCode::kIo, fmt::format("rank {} {}; it was waited for in {}", rank, fate, what));
}

Status SharedGroup::wait(const EpochFlag& flag, std::uint32_t epoch, std::int32_t writer, std::string_view what) const {
  for (int i = 0; i < kSpins; ++i) {
    if (reached(flag.epoch.load(std::memory_order_acquire), epoch)) return Status::success();
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  auto& shared = const_cast<EpochFlag&>(flag);  // only the count of sleepers changes
  const auto end = Clock::now() + deadline_;
  Status status = Status::success();
  shared.sleepers.fetch_add(1);
  for (;;) {
    const std::uint32_t seen = flag.epoch.load();
    if (reached(seen, epoch)) break;
    status = check_alive(writer, what);
    // What it published before it ended still counts.
    if (!status.ok() && reached(flag.epoch.load(), epoch)) status = Status::success();
    if (!status.ok()) break;
    if (Clock::now() >= end) {
      status = Error(ErrorCode::kIo,
                     fmt::format("rank {} did not answer within {} ms in {}", writer, deadline_.count(), what));
      break;
    }
    futex_wait(flag.epoch, seen, kLivenessInterval);
  }
  shared.sleepers.fetch_sub(1);
  return status;
}

}  // namespace sluice::comm
