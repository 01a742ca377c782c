#include "exporters/naming_pool.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "exporters/frame_names.h"
#include "exporters/symbolizer/demangle.h"
#include "exporters/symbolizer/module_names.h"

namespace unspool::exporters {
namespace {

// Addresses of a part, at least; what is less is not worth a handle.
constexpr size_t kPartSize = 64;

constexpr std::chrono::milliseconds kReportInterval(100);

// Of a worker, whatever "ulimit -s" says.
constexpr size_t kStackSizeBytes = kDemangleStackBytes + (1 << 20);

// Of address space for each worker, where that is limited: malloc reserves
// 128 MiB for a thread, and what it reserves no other thread can use.
constexpr rlim_t kBytesPerWorker = 1 << 30;

// Each opens a few files at a time.
constexpr rlim_t kDescriptorsPerWorker = 16;

// How many workers fit under a limit at `each`; no limit: `count`.
size_t FitWorkers(size_t count, int resource, rlim_t each) {
  rlimit limit;
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) {
    return 0;
  }
  return limit.rlim_cur == RLIM_INFINITY
             ? count
             : std::min<size_t>(count, limit.rlim_cur / each);
}

// The processors that this process may use; fewer under a low "ulimit -v" or
// "ulimit -n".
size_t WorkerCount() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 0;
  const auto count = static_cast<size_t>(CPU_COUNT(&cores));
  return FitWorkers(FitWorkers(count, RLIMIT_AS, kBytesPerWorker),
                    RLIMIT_NOFILE, kDescriptorsPerWorker);
}

}  // namespace

// What a thread keeps from one task to the next: the handle of one module.
class NamingPool::Worker {
 public:
  // `report` is called between two names; null for none.
  Worker(NamingPool& pool, const Report* report)
      : pool_(pool), report_(report) {}

  // Returns the parts that an opened module has. A module that there is no
  // memory for costs its own names only.
  std::vector<Task> Do(const Task& task) {
    try {
      if (task.is_open) return Open(task.module);
      Name(task);
      if (names_->is_damaged()) pool_.NoteDamage(task.module);
    } catch (const std::bad_alloc&) {
      names_.reset();
      pool_.NoteNoMemory(task.module);
    }
    return {};
  }

 private:
  std::vector<Task> Open(uint32_t module) {
    const NamingRequest& request = pool_.requests_[module];
    absl::StatusOr<std::shared_ptr<const ModuleTables>> tables =
        request.path == "[vdso]"
            ? ModuleTables::OpenVdso(request.build_id)
            : ModuleTables::Open(request.path, request.build_id,
                                 &pool_.servers_, kDebugRoot, request.found);
    if (!tables.ok()) {
      pool_.answers_[module].status = tables.status();
      pool_.done_ += request.offsets.size();
      return {};
    }
    pool_.tables_[module] = *tables;
    std::vector<Task> parts = Split(module, request.offsets);
    pool_.answers_[module].names.resize(parts.size());
    return parts;
  }

  // Cuts where a unit ends.
  std::vector<Task> Split(uint32_t module,
                          const std::vector<uint64_t>& offsets) {
    const ModuleTables& tables = *pool_.tables_[module];
    std::vector<std::pair<uint64_t, uint32_t>> addresses;
    for (uint32_t i = 0; i < offsets.size(); ++i) {
      addresses.emplace_back(
          tables.AddressOf(offsets[i], pool_.requests_[module].code_offset), i);
    }
    std::ranges::sort(addresses);
    const ModuleNames& names = NamesOf(module);
    // Units need not be contiguous: what lies in one is brought together.
    std::ranges::stable_sort(addresses, {}, [&names](const auto& address) {
      return names.UnitAt(address.first);
    });
    std::vector<Task> parts;
    std::optional<uint32_t> last_unit;
    for (const auto& address : addresses) {
      const std::optional<uint32_t> unit = names.UnitAt(address.first);
      if (parts.empty() ||
          (unit != last_unit && parts.back().addresses.size() >= kPartSize)) {
        const auto part = static_cast<uint32_t>(parts.size());
        parts.push_back({module, false, part, {}});
      }
      parts.back().addresses.push_back(address);
      last_unit = unit;
    }
    return parts;
  }

  void Name(const Task& task) {
    ModuleNames& names = NamesOf(task.module);
    const std::string_view module = BaseName(pool_.requests_[task.module].path);
    NameTable& table = pool_.answers_[task.module].names[task.part];
    for (const auto& [address, index] : task.addresses) {
      if (pool_.stop_) return;
      table.Add(index, names.Find(address, module));
      ++pool_.done_;
      ReportAtTimes(task.module);
    }
  }

  void ReportAtTimes(uint32_t module) {
    if (report_ == nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_report_ < kReportInterval) return;
    last_report_ = now;
    (*report_)(pool_.requests_[module].path, pool_.done_);
  }

  ModuleNames& NamesOf(uint32_t module) {
    if (names_ == nullptr || module != module_ || names_->is_large()) {
      names_.reset();  // before the next takes memory
      names_ = std::make_unique<ModuleNames>(pool_.tables_[module]);
      module_ = module;
    }
    return *names_;
  }

  NamingPool& pool_;
  const Report* const report_;
  std::chrono::steady_clock::time_point last_report_;
  std::unique_ptr<ModuleNames> names_;
  uint32_t module_ = 0;  // that names_ is of
};

NamingPool::NamingPool(std::vector<NamingRequest> requests)
    : requests_(std::move(requests)),
      answers_(requests_.size()),
      tables_(requests_.size()) {
  for (uint32_t i = 0; i < requests_.size(); ++i) {
    queue_.push_back({i, true, 0, {}});
  }
  // The longest first, so that no core waits for it in the end.
  std::ranges::stable_sort(queue_, std::greater(), [this](const Task& task) {
    return requests_[task.module].offsets.size();
  });
}

void NamingPool::Run(const Report& report) {
  if (requests_.empty()) return;
  report(requests_[queue_.front().module].path, 0);
  {
    std::vector<pthread_t> workers;
    const absl::Cleanup stop = [this, &workers] {
      Stop(nullptr);
      for (const pthread_t worker : workers) pthread_join(worker, nullptr);
    };
    StartWorkers(&workers);
    if (workers.empty()) {
      Work(&report);
    } else {
      Wait(report);
    }
  }
  if (error_ != nullptr) std::rethrow_exception(error_);
}

std::vector<std::string> NamingPool::Problems(size_t request) const {
  const ModuleTables* tables = tables_[request].get();
  if (tables == nullptr) return {};
  std::vector<std::string> problems = tables->problems();
  if (answers_[request].is_damaged) problems.push_back(tables->DamageText());
  return problems;
}

// As many as can be had.
void NamingPool::StartWorkers(std::vector<pthread_t>* workers) {
  const size_t count = WorkerCount();
  workers->reserve(count);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, kStackSizeBytes);
  const auto work = [](void* pool) -> void* {
    static_cast<NamingPool*>(pool)->Work(nullptr);
    return nullptr;
  };
  pthread_t worker;
  while (workers->size() < count &&
         pthread_create(&worker, &attributes, work, this) == 0) {
    workers->push_back(worker);
  }
  pthread_attr_destroy(&attributes);
}

void NamingPool::Wait(const Report& report) {
  std::unique_lock lock(mutex_);
  while (!stop_ && (!queue_.empty() || running_ > 0)) {
    changed_.wait_for(lock, kReportInterval);
    const std::string_view path = requests_[last_module_].path;
    lock.unlock();
    report(path, done_);
    lock.lock();
  }
}

void NamingPool::Work(const Report* report) {
  try {
    Worker worker(*this, report);
    Task task;
    while (NextTask(&task)) FinishTask(worker.Do(task));
  } catch (...) {
    Stop(std::current_exception());
  }
}

// Waits while another worker may still add tasks; false when none is left.
bool NamingPool::NextTask(Task* task) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [this] { return stop_ || !queue_.empty() || running_ == 0; });
  if (stop_ || queue_.empty()) return false;
  *task = std::move(queue_.front());
  queue_.pop_front();
  ++running_;
  last_module_ = task->module;
  return true;
}

// A module's parts come next, so that few modules are open at a time.
void NamingPool::FinishTask(std::vector<Task> more) {
  const std::scoped_lock lock(mutex_);
  queue_.insert(queue_.begin(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  --running_;
  changed_.notify_all();
}

void NamingPool::NoteNoMemory(uint32_t module) {
  const std::scoped_lock lock(mutex_);
  answers_[module].status =
      absl::ResourceExhaustedError("not enough memory for its names");
}

void NamingPool::NoteDamage(uint32_t module) {
  const std::scoped_lock lock(mutex_);
  answers_[module].is_damaged = true;
}

void NamingPool::Stop(std::exception_ptr error) {
  const std::scoped_lock lock(mutex_);
  if (error_ == nullptr) error_ = std::move(error);
  stop_ = true;
  servers_.Stop();
  changed_.notify_all();
}

}  // namespace unspool::exporters
