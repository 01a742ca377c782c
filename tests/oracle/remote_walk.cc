#include "tests/oracle/remote_walk.h"

#include <array>
#include <cstring>
#include <map>
#include <memory>

#include "tests/oracle/agent_protocol.h"
#include "unwind/cfi_finder.h"
#include "unwind/row_step.h"
#include "unwind/self_memory.h"
#include "unwind/walk.h"

namespace unspool::oracle {
namespace {

using unwind::CfiAnswer;
using unwind::kPageSize;
using unwind::NativeArch;
using unwind::Registers;
using unwind::StepStatus;

// A MemoryReader: pages of the target, each copied once in a walk.
class RemoteMemory {
 public:
  explicit RemoteMemory(const Target& target) : target_(target) {}

  bool Read(uint64_t address, size_t size, uint64_t* value) {
    *value = 0;
    for (size_t i = 0; i < size; ++i) {
      const Page& page = PageOf(address + i);
      if (!page.is_readable) return false;
      const uint64_t byte = page.bytes[(address + i) % kPageSize];
      *value |= byte << (8 * i);
    }
    return true;
  }

 private:
  struct Page {
    bool is_readable = false;
    std::array<uint8_t, kPageSize> bytes;
  };

  const Page& PageOf(uint64_t address) {
    const uint64_t start = address & ~(kPageSize - 1);
    if (start == last_start_ && last_ != nullptr) return *last_;
    const auto [place, is_new] = pages_.try_emplace(start);
    if (is_new) {
      place->second = std::make_unique<Page>();
      place->second->is_readable =
          target_.Read(start, place->second->bytes.data(), kPageSize) ==
          kPageSize;
    }
    last_start_ = start;
    last_ = place->second.get();
    return *last_;
  }

  const Target& target_;
  std::map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t last_start_ = 0;
  const Page* last_ = nullptr;
};

// CfiAnswers about the target's modules.
class RemoteCfi {
 public:
  using Answer = CfiAnswer<NativeArch>;
  using State = unwind::CfiFinderState<NativeArch>;

  RemoteCfi(const Target& target, State* state)
      : target_(target), state_(*state) {}

  Answer Find(uint64_t pc, bool exact) {
    module_ = target_.FindModule(unwind::LookupPc(pc, exact));
    if (module_ == nullptr) return {};
    Answer answer =
        FindCfi(module_->bytes, module_->loaded, pc, exact, &state_);
    answer.module = module_->id;
    answer.is_new = true;
    return answer;
  }

  StepStatus ApplyRow(const Registers& frame, RemoteMemory& memory,
                      Registers* caller) {
    unwind::RowStep<NativeArch, RemoteMemory, const ModuleBytes> step(
        frame, memory, module_->bytes, state_.bias);
    return step.Apply(state_.machine.row(), state_.cie.ra_register, caller);
  }

  // Each instruction is met once.
  void Learn(uint64_t, unwind::UnwindRule<NativeArch>) {}
  static unwind::KnownRule<NativeArch> FindKnown(uint64_t) { return {}; }
  static unwind::UnwindRule<NativeArch> FindUsual(uint64_t) { return {}; }
  template <class Memory>
  static size_t StepOn(Memory&, unwind::Position*, std::span<unwind::Frame>) {
    return 0;
  }
  static bool IsStill(uint64_t, unwind::ModuleId) { return true; }

  bool IsCode(uint64_t address) {
    const TargetModule* module = target_.FindModule(address);
    return module != nullptr && module->loaded.IsCode(address);
  }

  uint64_t FindFunction(uint64_t lookup_pc) {
    state_.fde = {};
    Find(lookup_pc, /*exact=*/true);
    return state_.fde.Covers(lookup_pc) ? state_.fde.pc_begin : 0;
  }

 private:
  const Target& target_;
  const TargetModule* module_ = nullptr;
  State& state_;
};

}  // namespace

Walked WalkRemote(const Target& target, const Registers& registers) {
  static const auto state = std::make_unique<RemoteCfi::State>();
  RemoteMemory memory(target);
  RemoteCfi cfi(target, state.get());
  unwind::WalkState<NativeArch> walk_state;
  unwind::Walker<NativeArch, RemoteMemory, RemoteCfi> walker(memory, cfi,
                                                             walk_state);
  Walked walked;
  walked.frames.resize(kMaxFrames);
  walked.result = walker.Walk(registers, walked.frames);
  walked.frames.resize(walked.result.depth);
  return walked;
}

}  // namespace unspool::oracle
