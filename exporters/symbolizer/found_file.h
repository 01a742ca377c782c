// A module's file that somebody found elsewhere than at its path.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_FOUND_FILE_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_FOUND_FILE_H_

#include <string>

namespace unspool::exporters {

struct FoundFile {
  std::string file;  // where it can be opened; "": at its path
  std::string root;  // below which debug files are looked up (MappedFile::Open)
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_FOUND_FILE_H_
