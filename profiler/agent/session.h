// One recording of this process, from start to profile.

#ifndef UNSPOOL_PROFILER_AGENT_SESSION_H_
#define UNSPOOL_PROFILER_AGENT_SESSION_H_

#include <limits.h>

#include <atomic>
#include <cstdint>

#include "collectors/engine_choice.h"
#include "collectors/recorder.h"
#include "collectors/sampling_engine.h"
#include "collectors/spool/spool_writer.h"
#include "collectors/thread_finder.h"
#include "collectors/try_lock.h"
#include "collectors/wall_clock.h"
#include "profiler/agent/image_facts.h"
#include "profiler/agent/message.h"
#include "profiler/agent/output_name.h"
#include "profiler/agent/settings.h"
#include "profiler/agent/spool_file.h"
#include "unwind/self_unwinder.h"

namespace unspool::profiler {

// What is said once per recording, however many processes find it out: bits of
// the spool's control page.
enum class Notice : uint32_t {
  kForbiddenCall = 0,  // + OptionalCall
  kEngine = 8,         // a fallback of the tick source
};

// All there is in a process, GetSession(). Never destroyed: ticks may come
// late. Calls are serialized; any thread.
class Session {
 public:
  constexpr Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Begins a recording: into the spool that `unspool record` keeps if there is
  // one, else towards a profile. EALREADY: one is running. On any problem
  // nothing is left behind. Not async-signal-safe: sets up.
  [[nodiscard]] Problem Start(const Settings& settings);

  // Ends the recording and writes the profile; where that fails the spool is
  // kept and named in the problem. ESRCH: none is running.
  // Not async-signal-safe: allocates.
  [[nodiscard]] Problem Stop();

  // Writes the profile so far; under `unspool record` there is none to write.
  // ESRCH: none is running. Not async-signal-safe: allocates.
  [[nodiscard]] Problem Flush();

  // Not async-signal-safe: takes the lock.
  void GetState(unspool_state* state);

  // The spool's path, "" if it has none or nothing runs.
  // Not async-signal-safe: one caller.
  const char* spool_path() const { return spool_path_; }
  // For the processes that this one starts. Not async-signal-safe: one caller.
  const char* spool_tag() const { return spool_tag_.text; }

  // True if this process is the one to tell the user of `notice`: once per
  // recording; with a spool of its own, only the first process.
  // Async-signal-safe; while it is running.
  bool IsFirstToSay(Notice notice);

  // Makes the recording ready for a program that is about to forbid what
  // growing takes. Not async-signal-safe: takes the lock.
  void StopGrowing();

  // Ends the helper of the wall clock, which lives on files and naps; running
  // threads are sampled on. Says so. Not async-signal-safe: takes the lock.
  void StopWallClock();

  // True in the process that started, until Stop(). Async-signal-safe.
  bool is_running() const { return engine_.is_running(); }

  collectors::SamplingEngine& engine() { return engine_; }
  collectors::WallClock& wall_clock() { return wall_clock_; }
  // Of the last Start(). Not async-signal-safe: one caller.
  collectors::EngineChoice engine_choice() const { return engine_choice_; }
  unwind::SelfUnwinder& unwinder() { return unwinder_; }

  // After something was loaded, or may have been: gives unwind data to what has
  // it in files only, or without a search table. Waits for nobody: who comes
  // while another thread does this leaves it to that one.
  // Not async-signal-safe: takes the loader's lock, reads files.
  void LookAtLoadedModules();
  // The same where a library was loaded by its name alone since (dlopen()).
  void NoteLoadByName() { has_loaded_by_name_.store(true); }
  void LookAtModulesLoadedByName() {
    if (has_loaded_by_name_.load()) LookAtLoadedModules();
  }

  // As in unspool.h: 0 or a handle, or a negative errno.
  // Not async-signal-safe: take a lock.
  int RegisterCode(uint64_t start, uint64_t size, const char* name);
  int RegisterFrames(const unwind::CfiSection& section);
  int UnregisterFrames(uint32_t handle);
  // While it runs: the .eh_frame at `start`, up to its terminator, as libgcc is
  // told of it. Not async-signal-safe: take a lock.
  void NoteFrames(uint64_t start);
  void ForgetFrames(uint64_t start);

  // Right before exec: what was not sampled is counted, and a spool without
  // samples removed, which is no use if the new program has no agent. Does
  // nothing in the child of a vfork.
  // Async-signal-safe.
  void PrepareExec();

 private:
  // For the child after fork (session_fork.cc).
  void AfterForkInChild();
  bool ContinueAfterFork(const sigset_t& own_mask);
  void ForgetAfterFork();
  // All below: lock held.
  void RegisterHandlers();
  Problem RememberSettings(const Settings& settings);
  Problem ChooseOutput();
  Problem OpenSpool(const Settings& settings);
  Problem OpenOwnSpool();
  Problem MapSpool(const SpoolFile& file);
  bool has_nothing_to_write() const;
  bool StandsInForTool() const;
  bool PrepareUnwinder();
  void CompleteModules();
  Problem StartEngine(const Settings& settings, const sigset_t& own_mask);
  Problem StartHelper(const sigset_t& own_mask);
  Problem StartWallClock(const sigset_t& own_mask);
  void StopHelper();
  int32_t helper_tid() const;
  void SayWithoutEvent();
  Problem WriteProfileNow();
  void NoteEnd();
  void CloseSpool(bool keep);

  collectors::TryLock lock_;
  collectors::TryLock module_lock_;
  std::atomic<bool> wants_module_look_{false};
  std::atomic<bool> has_loaded_by_name_{false};
  bool has_fork_handler_ = false;
  bool is_recording_ = false;
  bool is_for_tool_ = false;  // the tool keeps the spool and writes the profile
  bool is_first_process_ = false;
  bool is_resumed_ = false;
  bool follows_children_ = false;
  bool is_told_of_threads_ = false;  // we stand in front of pthread_create()
  uint32_t frequency_ = 0;
  SpoolTag spool_tag_;
  ImageFacts facts_;
  collectors::WallClock::Config wall_config_;
  collectors::EngineChoice engine_choice_;
  char tool_spool_[64] = {};  // "/proc/PID/fd/N"
  char output_pattern_[PATH_MAX] = {};
  char directory_[PATH_MAX] = {};  // that relative names are below
  OutputName output_;
  char spool_path_[PATH_MAX] = {};
  unwind::SelfUnwinder unwinder_;
  collectors::SpoolWriter writer_;
  collectors::Recorder recorder_;
  collectors::SamplingEngine engine_;
  // One of them at most runs.
  collectors::WallClock wall_clock_;
  collectors::ThreadFinder thread_finder_;
};

// Async-signal-safe.
Session& GetSession();

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_SESSION_H_
