#include "collectors/thread_wait.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>

#include "collectors/task_list.h"

namespace unspool::collectors {
namespace {

bool StartsWith(std::span<const char> text, const char* prefix) {
  const size_t size = std::strlen(prefix);
  return text.size() >= size && std::memcmp(text.data(), prefix, size) == 0;
}

// Numbers of one line, one after the other.
class NumberReader {
 public:
  explicit NumberReader(std::span<const char> text) : text_(text) {}

  // "123", "-1" or "0x7f"; nullopt: no number comes next, or it is too large.
  std::optional<uint64_t> Next() {
    while (Skip(" ")) {
    }
    const bool is_negative = Skip("-");
    const unsigned base = Skip("0x") ? 16 : 10;
    uint64_t value = 0;
    size_t digits = 0;
    for (; !text_.empty(); text_ = text_.subspan(1), ++digits) {
      const unsigned digit = DigitValue(text_.front());
      if (digit >= base) break;
      if (value > (UINT64_MAX - digit) / base) return std::nullopt;
      value = value * base + digit;
    }
    if (digits == 0) return std::nullopt;
    return is_negative ? 0 - value : value;
  }

 private:
  bool Skip(const char* prefix) {
    if (!StartsWith(text_, prefix)) return false;
    text_ = text_.subspan(std::strlen(prefix));
    return true;
  }
  static unsigned DigitValue(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    return 16;
  }

  std::span<const char> text_;
};

}  // namespace

ThreadWait ParseThreadWait(std::span<const char> text) {
  ThreadWait wait;
  if (StartsWith(text, "running")) {
    wait.state = ThreadWait::State::kRunnable;
    return wait;
  }
  NumberReader numbers(text);
  const std::optional<uint64_t> number = numbers.Next();
  if (!number.has_value()) return wait;
  if (*number != UINT64_MAX) {
    for (const size_t argument : unwind::NativeArch::kSyscallArguments) {
      const std::optional<uint64_t> value = numbers.Next();
      if (value.has_value()) wait.registers.Set(argument, *value);
    }
  }
  const std::optional<uint64_t> sp = numbers.Next();
  const std::optional<uint64_t> pc = numbers.Next();
  if (!sp.has_value() || !pc.has_value()) return wait;
  wait.registers.Set(unwind::NativeArch::kSp, *sp);
  wait.registers.Set(unwind::NativeArch::kRa, *pc);
  // Without a kernel stack there are no registers (lib/syscall.c).
  wait.state = *sp == 0 && *pc == 0 ? ThreadWait::State::kEnded
                                    : ThreadWait::State::kWaiting;
  return wait;
}

int OpenThreadWait(int32_t tid) { return OpenTaskFile(tid, "syscall"); }

ThreadWait ReadThreadWait(int fd) {
  std::array<char, 256> text;
  const long size = syscall(SYS_pread64, fd, text.data(), text.size(), 0);
  return ParseThreadWait(
      {text.data(), size < 0 ? 0 : static_cast<size_t>(size)});
}

uint64_t ParseRunDelayNs(std::span<const char> text) {
  NumberReader numbers(text);
  if (!numbers.Next().has_value()) return 0;
  return numbers.Next().value_or(0);
}

uint64_t ReadRunDelayNs(int32_t tid) {
  std::array<char, 96> text;
  const size_t size = ReadTaskFile(tid, "schedstat", text.data(), text.size());
  return ParseRunDelayNs({text.data(), size});
}

}  // namespace unspool::collectors
