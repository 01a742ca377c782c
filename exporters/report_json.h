// A report as one JSON object (RFC 8259), for programs.

#ifndef UNSPOOL_EXPORTERS_REPORT_JSON_H_
#define UNSPOOL_EXPORTERS_REPORT_JSON_H_

#include <ostream>

#include "exporters/call_tree.h"
#include "exporters/function_table.h"
#include "exporters/report_text.h"

namespace unspool::exporters {

// {"type": "cpu", "unit": "nanoseconds", "total": 10, "duration_ns": 20,
//  "functions": [{"name": "f", "flat": 1, "cum": 2, "inlined": false}, …]}
// in the order of the table. Values are whole numbers of the unit.
void WriteTableJson(const ReportContext& context, const FunctionTable& table,
                    std::ostream& out);

// The same head, then "nodes": [{"name": "f", "parent": -1, "flat": 1,
// "cum": 2}, …]: `parent` is an index into nodes, which comes earlier; -1:
// none.
void WriteTreeJson(const ReportContext& context, const CallTree& calls,
                   std::ostream& out);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_REPORT_JSON_H_
