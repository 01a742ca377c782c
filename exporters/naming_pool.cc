#include "exporters/naming_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "exporters/frame_names.h"
#include "exporters/symbolizer/module_names.h"

namespace unspool::exporters {
namespace {

// Addresses of a part, at least; what is less is not worth a handle.
constexpr size_t kPartSize = 64;

constexpr std::chrono::milliseconds kReportInterval(100);

// The processors that this process may use.
size_t CoreCount() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return static_cast<size_t>(std::max(1, CPU_COUNT(&cores)));
}

}  // namespace

// What a thread keeps from one task to the next: the handle of one module.
class NamingPool::Worker {
 public:
  explicit Worker(NamingPool& pool) : pool_(pool) {}

  // Returns the parts that an opened module has.
  std::vector<Task> Do(const Task& task) {
    if (task.is_open) return Open(task.module);
    Name(task);
    return {};
  }

 private:
  std::vector<Task> Open(uint32_t module) {
    const NamingRequest& request = pool_.requests_[module];
    absl::StatusOr<std::shared_ptr<const ModuleTables>> tables =
        request.path == "[vdso]"
            ? ModuleTables::OpenVdso(request.build_id)
            : ModuleTables::Open(request.path, request.build_id);
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
          tables.AddressOfOffset(offsets[i]).value_or(offsets[i]), i);
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
    }
  }

  ModuleNames& NamesOf(uint32_t module) {
    if (names_ == nullptr || module != module_) {
      names_.reset();  // before the next takes memory
      names_ = std::make_unique<ModuleNames>(pool_.tables_[module]);
      module_ = module;
    }
    return *names_;
  }

  NamingPool& pool_;
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
    std::vector<std::jthread> workers;  // joined last
    const absl::Cleanup stop = [this] { Stop(nullptr); };
    try {
      for (size_t i = CoreCount(); i > 0; --i) {
        workers.emplace_back([this] { Work(); });
      }
    } catch (const std::system_error&) {
      // No more threads are allowed.
    }
    if (workers.empty()) Work();
    Wait(report);
  }
  if (error_ != nullptr) std::rethrow_exception(error_);
}

std::vector<std::string> NamingPool::Problems(size_t request) const {
  const ModuleTables* tables = tables_[request].get();
  return tables == nullptr ? std::vector<std::string>() : tables->problems();
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

void NamingPool::Work() {
  try {
    Worker worker(*this);
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

void NamingPool::Stop(std::exception_ptr error) {
  const std::scoped_lock lock(mutex_);
  if (error_ == nullptr) error_ = std::move(error);
  stop_ = true;
  changed_.notify_all();
}

}  // namespace unspool::exporters
