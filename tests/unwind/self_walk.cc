#include "tests/unwind/self_walk.h"

#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace unspool::unwind {
namespace {

constinit SelfUnwinder unwinder;
QuietWalk trap_walk;
StackBounds trap_bounds;
int trap_count = 0;

void OnTrap(int, siginfo_t*, void* context_pointer) {
  auto* context = static_cast<ucontext_t*>(context_pointer);
  trap_walk.From(Registers::FromUcontext(*context), trap_bounds);
  ++trap_count;
  context->uc_mcontext.gregs[REG_RIP] += 2;  // behind the ud2
}

}  // namespace

int Walked::Find(uint64_t start, uint64_t end, int from) const {
  for (size_t i = static_cast<size_t>(from); i < frames.size(); ++i) {
    const uint64_t pc = LookupPc(frames[i]);
    if (start <= pc && pc < end) return static_cast<int>(i);
  }
  return -1;
}

std::string Walked::Text() const {
  std::string text = "end " + std::to_string(static_cast<int>(result.end)) +
                     ", failed at " + std::to_string(result.failed_pc) + "\n";
  for (const Frame& frame : frames) {
    const Module* module = TestUnwinder().FindModule(frame.module);
    char line[256];
    std::snprintf(line, sizeof(line), "  %lx %s+%lx%s%s\n", frame.pc,
                  module == nullptr ? "?" : module->path,
                  module == nullptr ? 0 : frame.pc - module->bias,
                  frame.exact ? " exact" : "", frame.guessed ? " guessed" : "");
    text += line;
  }
  return text;
}

SelfUnwinder& TestUnwinder() {
  if (unwinder.Init() != SelfUnwinder::InitStatus::kOk) std::abort();
  return unwinder;
}

StackBounds OwnStack() {
  pthread_attr_t attributes;
  void* start = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
      pthread_attr_getstack(&attributes, &start, &size) != 0) {
    std::abort();
  }
  pthread_attr_destroy(&attributes);
  const auto low = reinterpret_cast<uint64_t>(start);
  return {low, low + size};
}

void QuietWalk::From(const Registers& registers, const StackBounds& bounds) {
  result_ = unwinder.Walk(registers, bounds, scratch_, frames_);
}

Walked QuietWalk::Get() const {
  return {result_, {frames_.begin(), frames_.begin() + result_.depth}};
}

Walked WalkFrom(const Registers& registers, const StackBounds& bounds) {
  TestUnwinder();
  const auto walk = std::make_unique<QuietWalk>();
  walk->From(registers, bounds);
  return walk->Get();
}

Walked WalkAtTrap(const std::function<void()>& body,
                  const StackBounds& bounds) {
  TestUnwinder();
  trap_bounds = bounds;
  trap_count = 0;
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &before);
  body();
  sigaction(SIGILL, &before, nullptr);
  if (trap_count != 1) std::abort();
  return trap_walk.Get();
}

}  // namespace unspool::unwind
