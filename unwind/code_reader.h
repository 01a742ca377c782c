// Reads what a guess is checked with: instructions before and after addresses.

#ifndef UNSPOOL_UNWIND_CODE_READER_H_
#define UNSPOOL_UNWIND_CODE_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "unwind/call_site.h"
#include "unwind/dwarf_expression.h"
#include "unwind/instruction.h"
#include "unwind/near_return.h"

namespace unspool::unwind {

// All members are async-signal-safe if Memory's are.
template <class Arch, MemoryReader Memory>
class CodeReader {
 public:
  explicit CodeReader(Memory& memory) : memory_(memory) {}

  // As Memory's, and counts failures.
  bool Read(uint64_t address, size_t size, uint64_t* value) {
    if (memory_.Read(address, size, value)) return true;
    ++failed_reads_;
    return false;
  }
  unsigned failed_reads() const { return failed_reads_; }

  // The call that ends at `ra`.
  CallSite FindCallBefore(uint64_t ra) {
    std::array<uint8_t, Arch::kWordSize> code;  // read at once
    static_assert(code.size() >= Arch::Code::kMaxCallSize);
    const unsigned failed_reads = failed_reads_;
    size_t size = code.size();
    if (ReadCode(ra - size, code) != size) {
      // Code may begin where its first page does.
      size = (ra - 1) % kSmallestPage + 1;
      if (size >= code.size()) return {};
      if (ReadCode(ra - size, std::span(code).first(size)) != size) return {};
      failed_reads_ = failed_reads;
    }
    return Arch::Code::FindCallBefore(std::span(code).first(size), ra);
  }

  bool FollowsCall(uint64_t ra) {
    return FindCallBefore(ra).kind != CallSite::Kind::kNone;
  }

  bool IsJumpStub(uint64_t address) {
    return ReadStub(address).kind != JumpStub::Kind::kNone;
  }

  // Where a call of `address` leads: there, or where the stub there jumps; 0 if
  // the word that it jumps by cannot be read.
  uint64_t FollowStub(uint64_t address) {
    const JumpStub stub = ReadStub(address);
    if (stub.kind == JumpStub::Kind::kNone) return address;
    if (stub.kind == JumpStub::Kind::kDirect) return stub.target;
    uint64_t target = 0;
    return Read(stub.target, Arch::kWordSize, &target) ? target : 0;
  }

  // Does the call lead to `function`, through a stub or not? False also where
  // that cannot be told.
  bool IsCallOf(const CallSite& call, uint64_t function) {
    if (call.kind == CallSite::Kind::kDirect) {
      return call.target == function || FollowStub(call.target) == function;
    }
    uint64_t target = 0;
    return call.kind == CallSite::Kind::kIndirect && call.target != 0 &&
           Read(call.target, Arch::kWordSize, &target) && target == function;
  }

  // What the function that begins at `start` takes from the stack by its first
  // subtraction before `pc`; 0 if there is none near its start.
  uint64_t FindStackAllocation(uint64_t start, uint64_t pc) {
    std::array<uint8_t, Arch::Code::kMaxPrologueSize> code;
    const uint64_t size = pc - start < code.size() ? pc - start : code.size();
    const size_t read = ReadCode(start, std::span(code).first(size));
    return Arch::Code::FindStackAllocation(std::span(code).first(read));
  }

  bool IsTrampoline(uint64_t address) {
    std::array<uint8_t, Arch::SignalFrame::kTrampolineSize> code;
    return ReadCode(address, code) == code.size() &&
           Arch::SignalFrame::IsTrampoline(code);
  }

  // Where the return address is, by code that goes on at `pc` and returns soon;
  // nullopt if it does not, or cannot be read.
  std::optional<StackPlace> FindNearReturn(uint64_t pc) {
    std::array<uint8_t, NearReturn<Arch>::kWindow> code;
    const size_t size = ReadCode(pc, code);
    return NearReturn<Arch>(std::span(code).first(size)).Find();
  }

  // The instruction at `address`; of size 0 if it cannot be read or decoded.
  Instruction ReadInstruction(uint64_t address) {
    std::array<uint8_t, 2 * Arch::kWordSize> code;
    static_assert(code.size() >= Arch::Code::kMaxInstructionSize);
    const size_t size = ReadCode(address, code);
    return Arch::Code::Decode(std::span(code).first(size));
  }

  bool IsReadable(uint64_t address) {
    std::array<uint8_t, 1> code;
    return ReadCode(address, code) == code.size();
  }

 private:
  static constexpr uint64_t kSmallestPage = 4096;

  JumpStub ReadStub(uint64_t address) {
    std::array<uint8_t, Arch::Code::kMaxJumpStubSize> code;
    const size_t size = ReadCode(address, code);
    return Arch::Code::ParseJumpStub(std::span(code).first(size), address);
  }

  // How many bytes of `code` could be read: word by word as far as that goes.
  size_t ReadCode(uint64_t address, std::span<uint8_t> code) {
    size_t size = 0;
    uint64_t word = 0;
    for (; size + Arch::kWordSize <= code.size(); size += Arch::kWordSize) {
      if (!memory_.Read(address + size, Arch::kWordSize, &word)) break;
      std::memcpy(&code[size], &word, Arch::kWordSize);
    }
    for (; size < code.size(); ++size) {
      if (!Read(address + size, 1, &word)) break;
      code[size] = static_cast<uint8_t>(word);
    }
    return size;
  }

  Memory& memory_;
  unsigned failed_reads_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_CODE_READER_H_
