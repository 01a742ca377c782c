// Input: call-frame instructions. The first byte is a factor of locations, the
// second one of offsets, the third the number of bytes that are the CIE's.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/fuzz/exercise_cfi.h"
#include "tests/fuzz/fuzz_seeds.h"
#include "unwind/arch/x86_64/arch.h"
#include "unwind/cfi_machine.h"
#include "unwind/rule_program.h"

namespace unspool::fuzz {
namespace {

using unwind::CfiMachine;
using unwind::Cie;
using unwind::Fde;
using unwind::SpanSource;
using unwind::X86_64;

constexpr uint64_t kAddress = 0x10000;
constexpr uint64_t kFunction = 0x20000;
constexpr size_t kHeadSize = 3;

// As a copying source: no more at once than the least that one has to give.
class ShortSource {
 public:
  explicit ShortSource(SpanSource source) : source_(source) {}
  std::span<const uint8_t> Window(uint64_t address, size_t size) const {
    return source_.Window(address, std::min(size, unwind::kMinWindowSize));
  }

 private:
  SpanSource source_;
};

// Rows do not depend on how bytes come in; but an expression longer than a
// window is one that cannot be read.
void CompareSources(SpanSource source, const unwind::CfiSection& section,
                    const Cie& cie, const Fde& fde) {
  static const auto whole = std::make_unique<CfiMachine<X86_64>>();
  static const auto piecewise = std::make_unique<CfiMachine<X86_64>>();
  ShortSource pieces(source);
  for (const uint64_t pc : {kFunction + 0x10, kFunction + 0x1000}) {
    const bool by_piece = piecewise->FindRow(pieces, section, cie, fde, pc);
    const bool at_once = whole->FindRow(source, section, cie, fde, pc);
    if (!by_piece) continue;
    if (!at_once || piecewise->row().pc != whole->row().pc ||
        !(piecewise->row().cfa == whole->row().cfa) ||
        piecewise->row().registers != whole->row().registers) {
      std::abort();
    }
  }
}

// Where a rule can be told by the short way, it is the row's.
void CompareRules(SpanSource source, const unwind::CfiSection& section,
                  const Cie& cie, const Fde& fde) {
  static const auto machine = std::make_unique<CfiMachine<X86_64>>();
  using Program = unwind::RuleProgram<X86_64>;
  using Rule = unwind::UnwindRule<X86_64>;
  Fde nothing;
  if (cie.code_alignment != 1 || cie.data_alignment != -8 ||
      !machine->FindRow(source, section, cie, nothing, 0)) {
    return;
  }
  const auto initial = Rule::Compile(machine->row(), cie.ra_register);
  if (!initial || initial->word() != Program::Initial().word()) return;
  const auto code =
      source.Window(fde.instructions.address, fde.instructions.size);
  std::vector<uint8_t> bytes(code.begin(), code.end());
  bytes.resize(code.size() + unwind::kRuleProgramMargin);
  const std::span<const uint8_t> padded = bytes;
  for (const uint64_t distance : {0x0, 0x1, 0x10, 0x1000}) {
    Program program(padded.first(code.size()));
    const Rule rule = program.RunTo(distance);
    if (rule.word() == 0) continue;
    if (!machine->FindRow(source, section, cie, fde, kFunction + distance)) {
      std::abort();
    }
    const auto compiled = Rule::Compile(machine->row(), cie.ra_register);
    if (!compiled || compiled->word() != rule.word()) std::abort();
  }
}

}  // namespace
}  // namespace unspool::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace unspool::fuzz;
  if (size < kHeadSize) return 0;
  const SpanSource source({data, size}, kAddress);
  const uint64_t begin = kAddress + kHeadSize;
  const uint64_t cie_size = std::min<uint64_t>(data[2], size - kHeadSize);
  Cie cie;
  cie.code_alignment = data[0];
  cie.data_alignment = static_cast<int8_t>(data[1]);
  cie.ra_register = X86_64::kRa;
  cie.instructions = {begin, cie_size};
  Fde fde;
  fde.pc_begin = kFunction;
  fde.pc_end = kFunction + 0x2000;
  fde.instructions = {begin + cie_size, size - kHeadSize - cie_size};
  unspool::unwind::CfiSection section;
  section.address = kAddress;
  section.size = size;
  ExerciseFde(source, section, cie, fde);
  CompareRules(source, section, cie, fde);
  if (size > unspool::unwind::kMinWindowSize) {
    CompareSources(source, section, cie, fde);
  }
  return 0;
}

namespace unspool::fuzz {

std::span<const FuzzSeed> FuzzSeeds() {
  static constexpr FuzzSeed kSeeds[] = {
      {"compiled", R"(
        01 f8 05  0c 07 08 90 01    # CFA = rsp+8, RA at CFA-8
        41 0e 10 86 02              # push rbp
        43 0d 06                    # mov rsp, rbp
        45 83 03 0a                 # push rbx; remember
        02 20 c3 c6 0c 07 08        # pop, ret
        41 0b                       # restore
      )"},
      {"every_instruction", R"(
        04 fc 05  0c 07 08 90 01
        01 10 00 02 00 00 00 00 00  # set_loc 0x20010
        02 01  03 01 00  04 01 00 00 00  1d 01 00 00 00 00 00 00 00
        05 03 02  06 03  07 0c  08 0d  09 0e 0f  0a 0b
        0d 06  0e 18  11 0c 7e  12 07 7e  13 7e  14 0d 02  15 0e 7e
        2d  2e 10  2f 0f 02  00
      )"},
      {"expressions", R"(
        01 f8 05  0c 07 08 90 01
        41 0f 04 77 a0 01 06        # CFA = *(rsp+160)
        41 10 10 03 77 a8 01        # RA saved at rsp+168
        41 16 06 03 77 f8 00        # rbp is rsp+120
        41 0d 07 0e 20              # back to a register
      )"},
      {"nested_states", R"(
        01 f8 05  0c 07 08 90 01
        0a 0e 10 0a 0e 18 0a 0e 20 0a 0a 0a 0a 0a 0a
        41 0b 41 0b 41 0b 0b 0b 0b 0b 0b 41 0b
      )"},
  };
  return kSeeds;
}

}  // namespace unspool::fuzz
