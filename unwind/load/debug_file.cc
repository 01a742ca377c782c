#include "unwind/load/debug_file.h"

#include <cstdio>
#include <cstring>
#include <optional>

#include "unwind/load/debug_link.h"

namespace unspool::unwind {
namespace {

// The length of the folder of a path, with its '/'.
int FolderLength(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? 0 : static_cast<int>(slash + 1 - path);
}

int Length(std::string_view text) { return static_cast<int>(text.size()); }

}  // namespace

// What the right file must have.
struct DebugFile::Wanted {
  BuildId build_id;             // size 0: no matter
  std::optional<uint32_t> crc;  // then a file without a build id will do

  // Null, or why the file is not the one.
  const char* Mismatch(const MappedFile& file, const ElfFile& elf) const {
    const BuildId id = elf.FindBuildId();
    const bool may_lack_id = crc.has_value() && id.size == 0;
    if (build_id.size > 0 && id != build_id && !may_lack_id) {
      return "is of another build: its build id differs";
    }
    if (crc && DebugLinkCrc(file.bytes()) != *crc) {
      return "is of another build: its checksum is not that of .gnu_debuglink";
    }
    return nullptr;
  }
};

// Names candidates, one after the other, until one is right.
class DebugFile::Search {
 public:
  Search(DebugFile* result, const DebugFileQuery& query,
         const RejectedFiles& rejected)
      : result_(*result), query_(query), rejected_(rejected) {}

  bool ByBuildId(const BuildId& build_id) {
    if (build_id.size < 2) return false;
    const BuildIdText hex = ToText(build_id);
    const Wanted wanted = {.build_id = build_id, .crc = {}};
    for (const char* root : {query_.root, ""}) {
      if (Fits(std::snprintf(result_.path_, sizeof(result_.path_),
                             "%s/.build-id/%.2s/%s.debug", query_.debug_folder,
                             hex.text, hex.text + 2)) &&
          result_.Take(wanted, query_, rejected_, root)) {
        return true;
      }
      if (*query_.root == '\0') break;
    }
    return false;
  }

  bool ByLink(const DebugLink& link, const BuildId& build_id) {
    const Wanted wanted = {.build_id = build_id, .crc = link.crc};
    return InFolders([&](int size, const char* path) {
      return InFolder("", size, path, "", link.name, wanted) ||
             InFolder("", size, path, ".debug/", link.name, wanted) ||
             InFolder(query_.debug_folder, size, path, "", link.name, wanted);
    });
  }

  bool ByAltLink(const DebugAltLink& link) {
    const Wanted wanted = {.build_id = link.build_id, .crc = {}};
    if (link.path.starts_with('/')) {
      return InFolder("", 0, "", "", link.path, wanted);
    }
    return InFolders([&](int size, const char* path) {
      return InFolder("", size, path, "", link.path, wanted);
    });
  }

 private:
  static bool Fits(int length) { return length > 0 && length < PATH_MAX; }

  // Calls look(size of the folder, path) for the file's folder as given, then,
  // if that is another, for the one without symbolic links.
  template <typename Look>
  bool InFolders(const Look& look) {
    const int size = FolderLength(query_.path);
    if (look(size, query_.path)) return true;
    char resolved[PATH_MAX];
    if (!ResolvePath(query_.path, query_.root, resolved)) return false;
    const int resolved_size = FolderLength(resolved);
    const bool is_same =
        resolved_size == size &&
        memcmp(resolved, query_.path, static_cast<size_t>(size)) == 0;
    return !is_same && look(resolved_size, resolved);
  }

  bool InFolder(const char* prefix, int folder_size, const char* path,
                const char* middle, std::string_view name,
                const Wanted& wanted) {
    return Fits(std::snprintf(result_.path_, sizeof(result_.path_),
                              "%s%.*s%s%.*s", prefix, folder_size, path, middle,
                              Length(name), name.data())) &&
           result_.Take(wanted, query_, rejected_, query_.root);
  }

  DebugFile& result_;
  const DebugFileQuery& query_;
  const RejectedFiles& rejected_;
};

// Opens the candidate in path_; keeps it if it is the right one.
bool DebugFile::Take(const Wanted& wanted, const DebugFileQuery& query,
                     const RejectedFiles& rejected, const char* root) {
  elf_ = ElfFile();
  root_ = root;
  if (file_.Open(path_, root) != 0 || file_.id() == query.id) return false;
  const ElfError error = elf_.Parse(file_.bytes());
  const char* why = error == ElfError::kNone ? wanted.Mismatch(file_, elf_)
                                             : ElfErrorText(error);
  if (why == nullptr) return true;
  if (rejected.report != nullptr) {
    rejected.report(rejected.context, path_, why);
  }
  elf_ = ElfFile();
  return false;
}

bool DebugFile::Find(const ElfFile& module, const DebugFileQuery& query,
                     const RejectedFiles& rejected) {
  Search search(this, query, rejected);
  const BuildId build_id = module.FindBuildId();
  if (search.ByBuildId(build_id)) return true;
  const auto link = ReadDebugLink(module);
  return link && search.ByLink(*link, build_id);
}

bool DebugFile::Open(const char* path, const BuildId& build_id,
                     const RejectedFiles& rejected) {
  const int length = std::snprintf(path_, sizeof(path_), "%s", path);
  return build_id.size > 0 && length < PATH_MAX &&
         Take({.build_id = build_id, .crc = {}}, {}, rejected, "");
}

bool DebugFile::FindAlt(const ElfFile& file, const DebugFileQuery& query,
                        const RejectedFiles& rejected) {
  const auto link = ReadDebugAltLink(file);
  if (!link) return false;
  Search search(this, query, rejected);
  return search.ByAltLink(*link) || search.ByBuildId(link->build_id);
}

}  // namespace unspool::unwind
