// What a function's name may be written as in a box that it does not fit: the
// same as in the page (nameForms in page/text.js).

#ifndef UNSPOOL_EXPORTERS_FLAME_NAME_FORMS_H_
#define UNSPOOL_EXPORTERS_FLAME_NAME_FORMS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace unspool::exporters {

// The longest first: "std::vector<int>::at(int)", "std::vector::at", "at"; of
// "module+0x1234" the address alone.
// Not async-signal-safe: allocates.
std::vector<std::string> NameForms(std::string_view name);

// The longest form of at most `room` characters; if none is, the shortest.
// Not async-signal-safe: allocates.
std::string FitForm(std::string_view name, size_t room);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_FLAME_NAME_FORMS_H_
