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
      "madvise (the recording cannot grow much further)"},
     {OptionalCall::kPerfEvent, "perf_event_open (timers are used instead)"},
     {OptionalCall::kThreads,
      "what sampling new threads takes, and the end of sampling (the recording "
      "stays as after a crash)"},
     {OptionalCall::kFiles,
      "files (the recording stays as after a crash; threads that "
      "pthread_create "
      "did not make go unseen)"},
     {OptionalCall::kThreadName, "prctl (threads keep their first names)"}}};

void SayWhatIsForbidden(OptionalCallSet calls) {
  char list[400] = "";
  size_t size = 0;
  for (const Consequence& consequence : kConsequences) {
    if (!calls.Has(consequence.call)) continue;
    size +=
        static_cast<size_t>(snprintf(list + size, sizeof(list) - size, "%s%s",
                                     size == 0 ? "" : ", ", consequence.text));
    if (size >= sizeof(list)) break;
  }
  if (size != 0) Say("the program's seccomp filter forbids %s", list);
}

// Says only what is new.
void Adapt(OptionalCallSet before, OptionalCallSet found) {
  const uint32_t added = found.bits() & ~before.bits();
  SayWhatIsForbidden(OptionalCallSet::FromBits(added));
  collectors::SetForbiddenCalls(before | found);
}

}  // namespace

void AdaptToFilter() {
  if (!collectors::HasSeccompFilter()) return;
  Adapt(collectors::ForbiddenCalls(), collectors::FindForbiddenCalls(nullptr));
}

OptionalCallSet AdaptToRequest(const collectors::SeccompRequest& request) {
  const OptionalCallSet before = collectors::ForbiddenCalls();
  if (!GetSession().is_running()) return before;
  const collectors::SignalBlock signals;
  Adapt(before, collectors::FindForbiddenCalls(&request));
  return before;
}

}  // namespace unspool::profiler
