// Names of C++ and Rust functions with less in them.

#ifndef UNSPOOL_EXPORTERS_SHORT_NAMES_H_
#define UNSPOOL_EXPORTERS_SHORT_NAMES_H_

#include <string>
#include <string_view>

#include "exporters/profile.h"

namespace unspool::exporters {

// `name` with its outermost lists of arguments emptied: of templates if `open`
// is '<', "std::vector<..>::push_back(int)", of functions if it is '(',
// "f<int>(..)". Brackets that are no such lists stay: "operator<", "(anonymous
// namespace)", Rust's "<A as B>::f", "<init>". So does a name in which one is
// not closed. Not async-signal-safe: allocates.
std::string ElideArguments(std::string_view name, char open);

// Empties the lists of template arguments in all names of functions; system
// names stay. Functions that are called alike then are one in every view.
// Not async-signal-safe: allocates.
void ShortenTemplates(Profile* profile);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SHORT_NAMES_H_
