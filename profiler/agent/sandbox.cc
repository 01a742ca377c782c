#include "profiler/agent/sandbox.h"

#include <stdio.h>
#include <string.h>

#include <array>

#include "collectors/try_lock.h"
#include "profiler/agent/message.h"
#include "profiler/agent/session.h"

namespace unspool::profiler {
namespace {

using collectors::OptionalCall;
using collectors::OptionalCallSet;

struct Consequence {
  OptionalCall call;
  const char* text;
};

constexpr std::array<Consequence, collectors::kOptionalCallCount> kConsequences{
    {{OptionalCall::kCopyMemory,
      "process_vm_readv (stacks end at libraries that were loaded later)"},
     {OptionalCall::kPopulate,
      "madvise (the recording has room for 4 MiB more)"},
     {OptionalCall::kPerfEvent, "perf_event_open (timers are used instead)"},
     {OptionalCall::kThreads,
      "what sampling new threads takes, and the end of sampling (the recording "
      "stays as after a crash)"},
     {OptionalCall::kFiles,
      "files (the recording stays as after a crash; threads that "
      "pthread_create "
      "did not make go unseen)"},
     {OptionalCall::kThreadName, "prctl (threads keep their first names)"}}};

Notice NoticeOf(OptionalCall call) {
  return static_cast<Notice>(static_cast<uint32_t>(Notice::kForbiddenCall) +
                             static_cast<uint32_t>(call));
}

}  // namespace

OptionalCallSet AdaptToFilter() {
  if (!collectors::HasSeccompFilter()) return {};
  collectors::SetForbiddenCalls(collectors::FindForbiddenCalls(nullptr));
  return collectors::ForbiddenCalls();
}

void SayWhatIsForbidden(OptionalCallSet calls) {
  char list[400] = "";
  size_t size = 0;
  for (const Consequence& consequence : kConsequences) {
    if (!calls.Has(consequence.call) ||
        !GetSession().IsFirstToSay(NoticeOf(consequence.call))) {
      continue;
    }
    size +=
        static_cast<size_t>(snprintf(list + size, sizeof(list) - size, "%s%s",
                                     size == 0 ? "" : ", ", consequence.text));
    if (size >= sizeof(list)) break;
  }
  if (size != 0) Say("the program's seccomp filter forbids %s", list);
}

OptionalCallSet AdaptToRequest(const collectors::SeccompRequest& request) {
  const OptionalCallSet before = collectors::ForbiddenCalls();
  if (!GetSession().is_running()) return before;
  const collectors::SignalBlock signals;
  const OptionalCallSet found = collectors::FindForbiddenCalls(&request);
  const OptionalCallSet added =
      OptionalCallSet::FromBits(found.bits() & ~before.bits());
  SayWhatIsForbidden(added);
  if (added.Has(OptionalCall::kPopulate)) GetSession().StopGrowing();
  if (added.Has(OptionalCall::kFiles) || added.Has(OptionalCall::kThreads)) {
    GetSession().StopWallClock();
  }
  collectors::SetForbiddenCalls(before | found);
  return before;
}

}  // namespace unspool::profiler
