#include "exporters/raw/stack_walker.h"

namespace unspool::exporters::raw {

using collectors::NodeView;
using collectors::RootNode;
using unwind::WalkEnd;

bool StackWalker::Read(uint32_t node, Stack* stack) {
  depth_ = 0;
  *stack = {};
  while (node >= collectors::kFirstNode && depth_ < kMaxStackDepth) {
    NodeView view;
    if (!reader_.FindNode(image_, node, &view)) return false;
    uint32_t& location = locations_[view.index];
    if (location == 0) location = modules_.LocationOf(view);
    stack_[depth_++] = location;
    stack->has_guessed = stack->has_guessed || view.guessed;
    node = view.parent;
  }
  stack->locations = stack_.view().first(depth_);
  if (node >= collectors::kFirstNode) {
    stack->end = WalkEnd::kDepth;
    return true;
  }
  stack->end = static_cast<WalkEnd>(node - RootNode(WalkEnd::kRoot));
  return node != 0 &&
         node <= RootNode(static_cast<WalkEnd>(unwind::kWalkEndCount - 1));
}

}  // namespace unspool::exporters::raw
