// Stacks that the recorder walks twice.

#include "unwind/stack_audit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "collectors/recorder.h"
#include "collectors/spool/spool_reader.h"
#include "collectors/thread_table.h"
#include "tests/collectors/spool/test_spool.h"
#include "unwind/self_unwinder_state.h"

namespace unspool::unwind {

struct SelfUnwinderPeer {
  static RuleCache& Rules(SelfUnwinder& unwinder) {
    return unwinder.state_.load()->rules;
  }
};

namespace {

using collectors::AuditArray;

constinit SelfUnwinder unwinder;

TEST(CompareWalks, TellsWhatDiffersAndWhy) {
  const std::vector<Frame> stack = {{0x10, 1, true, false},
                                    {0x20, 2, false, false}};
  const auto with = [&stack](auto change) {
    std::vector<Frame> other = stack;
    change(other);
    return other;
  };
  const struct {
    const char* name;
    std::vector<Frame> second;
    WalkEnd end;
    uint64_t wrong_rules;
    AuditFinding expected;
  } rows[] = {
      {"same", stack, WalkEnd::kRoot, 0, AuditFinding::kSame},
      {"rule", stack, WalkEnd::kRoot, 1, AuditFinding::kRule},
      {"pc", with([](auto& s) { s[1].pc = 0x21; }), WalkEnd::kRoot, 0,
       AuditFinding::kStack},
      {"exact", with([](auto& s) { s[1].exact = true; }), WalkEnd::kRoot, 0,
       AuditFinding::kStack},
      {"guessed", with([](auto& s) { s[1].guessed = true; }), WalkEnd::kRoot, 0,
       AuditFinding::kStack},
      {"module", with([](auto& s) { s[0].module = 3; }), WalkEnd::kRoot, 0,
       AuditFinding::kModule},
      {"deeper", with([](auto& s) { s.push_back({}); }), WalkEnd::kRoot, 0,
       AuditFinding::kStack},
      {"shorter", with([](auto& s) { s.pop_back(); }), WalkEnd::kRoot, 0,
       AuditFinding::kStack},
      {"end", stack, WalkEnd::kNoCfi, 0, AuditFinding::kStack},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(CompareWalks(stack, WalkEnd::kRoot, row.second, row.end,
                           row.wrong_rules),
              row.expected)
        << row.name;
  }
}

class StackAudit : public ::testing::Test {
 protected:
  static constexpr uint32_t kDepth = 256;
  static constexpr int kSamples = 4096;

  void SetUp() override {
    ASSERT_EQ(unwinder.Init(), SelfUnwinder::InitStatus::kOk);
    ASSERT_EQ(writer_.Open(spool_.fd(), collectors::TestImage()),
              collectors::SpoolStatus::kOk);
    recorder_.Begin(unwinder, writer_);
    ASSERT_NE(thread_, nullptr);
    ASSERT_TRUE(thread_->Reserve(kDepth));
    recorder_.AddThread(*thread_, gettid());
  }

  // Samples this place; before each sample the rule of its caller says that the
  // caller's stack begins `words` further up than it does.
  [[gnu::noinline]] void Record(uint64_t words) {
    const collectors::Capture capture = {
        .thread = thread_, .registers = Registers::Here(), .stack = {}};
    const WalkResult walk = unwinder.Walk(
        capture.registers, {}, thread_->scratch, thread_->audit_frames());
    ASSERT_EQ(walk.end, WalkEnd::kRoot);
    const auto frames = thread_->audit_frames().first(walk.depth);
    right_stack_ = writer_.AddStack(frames, walk.end);
    const Frame caller = frames[1];
    RuleCache& rules = SelfUnwinderPeer::Rules(unwinder);
    const uint64_t rule = rules.Find(LookupPc(caller), caller.module);
    ASSERT_TRUE(UnwindRule<NativeArch>::FromWord(rule).is_step());
    const uint64_t wrong_rule = rule + (words << 18);  // see unwind_rule.h
    for (int i = 0; i < kSamples; ++i) {
      rules.Insert(LookupPc(caller), caller.module, wrong_rule);
      recorder_.Record(capture, collectors::SampleKind::kCpu, 1);
    }
    rules.Insert(LookupPc(caller), caller.module, rule);
  }

  // What the spool says, and how many samples have the right stack.
  AuditArray Audits(uint64_t* right_samples) {
    const std::vector<uint8_t> bytes = spool_.Bytes();
    collectors::SpoolReader reader;
    EXPECT_EQ(reader.Open(bytes), collectors::SpoolStatus::kOk);
    *right_samples = 0;
    reader.ForEachThread(0, [&](const collectors::ThreadView& thread) {
      reader.ForEachCounter(0, thread,
                            [&](const collectors::CounterView& counter) {
                              if (counter.stack == right_stack_)
                                *right_samples += counter.count;
                            });
    });
    return reader.audits();
  }

  collectors::TestSpool spool_;
  collectors::SpoolWriter writer_;
  collectors::Recorder recorder_;
  collectors::ThreadTable threads_;
  collectors::ThreadState* const thread_ = threads_.Acquire(1);
  collectors::NodeId right_stack_ = 0;
};

// Every 1,024th on average, never fewer than every 1,597th or more than every
// 610th: 2 to 7 of 4,096.
void ExpectRate(uint64_t audited) {
  EXPECT_GE(audited, 2u);
  EXPECT_LE(audited, 7u);
}

TEST_F(StackAudit, OneStackInAThousandIsWalkedTwiceAndTheSame) {
  Record(0);
  uint64_t right_samples = 0;
  const AuditArray audits = Audits(&right_samples);
  ExpectRate(audits[static_cast<size_t>(AuditFinding::kSame)]);
  EXPECT_EQ(audits[static_cast<size_t>(AuditFinding::kRule)], 0u);
  EXPECT_EQ(audits[static_cast<size_t>(AuditFinding::kModule)], 0u);
  EXPECT_EQ(audits[static_cast<size_t>(AuditFinding::kStack)], 0u);
  EXPECT_EQ(right_samples, uint64_t{kSamples});
}

TEST_F(StackAudit, AWrongRuleInTheCacheIsFoundAndTheRightStackRecorded) {
  Record(1);
  uint64_t right_samples = 0;
  const AuditArray audits = Audits(&right_samples);
  const uint64_t found = audits[static_cast<size_t>(AuditFinding::kRule)];
  ExpectRate(found);
  EXPECT_EQ(audits[static_cast<size_t>(AuditFinding::kSame)], 0u);
  EXPECT_EQ(right_samples, found);
}

// Found once, it is put right.
TEST_F(StackAudit, AFreshWalkReplacesAWrongRule) {
  const Registers here = Registers::Here();
  std::vector<Frame> frames(kDepth);
  const WalkResult walk = unwinder.Walk(here, {}, thread_->scratch, frames);
  RuleCache& rules = SelfUnwinderPeer::Rules(unwinder);
  const uint64_t pc = LookupPc(frames[1]);
  const uint64_t rule = rules.Find(pc, frames[1].module);
  rules.Insert(pc, frames[1].module, rule + (1 << 18));
  const WalkResult again = unwinder.Walk(here, {}, thread_->scratch, frames,
                                         SelfUnwinder::RuleUse::kFresh);
  EXPECT_EQ(again.depth, walk.depth);
  EXPECT_EQ(thread_->scratch.counters.wrong_rules, 1u);
  EXPECT_EQ(rules.Find(pc, frames[1].module), rule);
}

}  // namespace
}  // namespace unspool::unwind
