// Files that whoever recorded a program opened while it ran, and that may not
// be found any more: in another mount namespace, deleted, replaced.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_RECORDED_FILES_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_RECORDED_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace unspool::exporters {

struct FoundFile {
  std::string file;  // where it can be opened; "": at its path
  std::string root;  // below which debug files are looked up (MappedFile::Open)
};

// Folders of a process, where they can be opened. Several where processes had
// one number after another; none of a process that nobody saw.
struct ProcessFolders {
  std::vector<std::string> temporary;  // what it sees as /tmp
  std::vector<std::string> working;
};

// Thread rule: one thread.
class RecordedFiles {
 public:
  virtual ~RecordedFiles() = default;

  // By what the recording says of a module; the build id is hex, "" if there is
  // none. Not async-signal-safe: allocates.
  virtual FoundFile FindFile(const std::string& path,
                             std::string_view build_id) const = 0;

  // By the number that a process had in its own pid namespace.
  // Not async-signal-safe: allocates.
  virtual ProcessFolders FindFolders(int64_t pid) const = 0;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_RECORDED_FILES_H_
