// Rules found by the short way, beside those found by the long one: at the
// bounds of every row of every pinned module of the test.

#include "unwind/usual_cfi.h"

#include <gtest/gtest.h>

#include <memory>

#include "unwind/arch/arch.h"
#include "unwind/module_setup.h"
#include "unwind/module_snapshot.h"

namespace unspool::unwind {
namespace {

using State = CfiFinderState<NativeArch>;
using Row = CfiRow<NativeArch>;

// Counts, and compares.
class Comparison {
 public:
  explicit Comparison(const LoadedModule& loaded)
      : loaded_(loaded), source_(loaded) {}

  void CompareAll(const CfiSection& section) {
    CfiEntryCursor cursor(section);
    CfiEntry entry;
    while (cursor.Next(source_, &entry)) {
      Cie cie;
      Fde fde;
      if (entry.kind == CfiEntry::Kind::kFde &&
          ReadFde(source_, section, entry.address, &cie, &fde)) {
        CompareRows(section, cie, fde);
      }
    }
  }

  // Places with a plain rule, and those of them where it was told.
  size_t rules() const { return rules_; }
  size_t told() const { return told_; }

 private:
  void CompareRows(const CfiSection& section, const Cie& cie, const Fde& fde) {
    rows_machine_->ForEachRow(source_, section, cie, fde, [&](const Row& row) {
      Compare(row.pc);
      Compare(row.pc - 1);
    });
    Compare(fde.pc_end - 1);
  }

  void Compare(uint64_t pc) {
    using Kind = CfiAnswer<NativeArch>::Kind;
    const auto answer =
        FindCfi(source_, loaded_, pc, /*exact=*/true, &*other_state_);
    const bool is_plain = answer.kind == Kind::kRule && answer.rule.is_plain();
    const auto rule = FindUsualRule<NativeArch>(loaded_, pc, *cies_, &*state_);
    rules_ += is_plain ? 1 : 0;
    if (rule.word() == 0) return;
    ++told_;
    ASSERT_TRUE(is_plain) << loaded_.module.path << " " << std::hex << pc;
    ASSERT_EQ(answer.rule.word(), rule.word())
        << loaded_.module.path << " " << std::hex << pc;
  }

  const LoadedModule& loaded_;
  MappedSource source_;
  const std::unique_ptr<CfiMachine<NativeArch>> rows_machine_ =
      std::make_unique<CfiMachine<NativeArch>>();
  const std::unique_ptr<State> state_ = std::make_unique<State>();
  const std::unique_ptr<State> other_state_ = std::make_unique<State>();
  const std::unique_ptr<UsualCies<NativeArch>> cies_ =
      std::make_unique<UsualCies<NativeArch>>();
  size_t rules_ = 0;
  size_t told_ = 0;
};

TEST(UsualCfi, TellsNearlyAllRulesAndNoOthers) {
  ModuleSnapshot modules;
  ASSERT_TRUE(TakeModuleSnapshot(nullptr, &modules));
  size_t rules = 0;
  size_t told = 0;
  for (ModuleId id = 0; id < modules.count(); ++id) {
    const LoadedModule& loaded = *modules.Get(id);
    if (loaded.source_count == 0) continue;
    Comparison comparison(loaded);
    comparison.CompareAll(loaded.sources[0].section);
    rules += comparison.rules();
    told += comparison.told();
  }
  EXPECT_GT(rules, 50'000u);  // libc, libstdc++, the test
  EXPECT_GT(told, rules / 100 * 99);
}

TEST(UsualCfi, SaysNothingWithoutUnwindData) {
  const auto state = std::make_unique<State>();
  UsualCies<NativeArch> cies{};
  const LoadedModule none{};
  EXPECT_EQ(FindUsualRule(none, 0x1000, cies, &*state).word(), 0u);
}

}  // namespace
}  // namespace unspool::unwind
