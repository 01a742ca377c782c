// A test with a folder of its own, for programs that are taken apart, and with
// all names that we give to their code.

#ifndef UNSPOOL_TESTS_EXPORTERS_SYMBOLIZER_PROGRAM_FOLDER_H_
#define UNSPOOL_TESTS_EXPORTERS_SYMBOLIZER_PROGRAM_FOLDER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"

namespace unspool::exporters {

// Names in it are of files in the folder. Its debug/ is where debug files by
// build id are looked for.
class ProgramFolder : public testing::Test {
 protected:
  ProgramFolder();
  ~ProgramFolder() override;

  std::string Path(const std::string& name) const;
  // By the shell, in the folder; fails the test if it fails.
  void Run(const std::string& command);
  // A program that programs/CMakeLists.txt builds.
  void Copy(const std::string& program, const std::string& name);
  // Compiles the sources shapes*.cc of programs/ in the folder, so that names
  // of files are relative to it, with debug data unless the flags say
  // otherwise.
  void Compile(const std::string& compiler, const std::string& flags,
               const std::string& name);
  // Sets a byte of a section.
  void Patch(const std::string& name, const char* section, size_t offset,
             uint8_t value);
  // Sets all of a section to 0.
  void Zero(const std::string& name, const char* section);
  // ".build-id/ab/cdef.debug".
  std::string IdPath(const std::string& name);

  // "function file:line" of every frame at every few bytes of each function of
  // ./whole.
  std::vector<std::string> NamesOf(const std::string& name);
  // The outermost frame in the function `symbol` of `whole`, with the last part
  // of the file's name only.
  std::string NameAt(const std::string& name, const std::string& symbol,
                     const std::string& whole = "whole");
  // After naming all that NamesOf asks for.
  std::vector<std::string> ProblemsOf(const std::string& name);

  const std::string folder_ = TempPath("programs");
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_TESTS_EXPORTERS_SYMBOLIZER_PROGRAM_FOLDER_H_
