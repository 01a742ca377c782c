#include "exporters/raw/stack_walker.h"

#include "exporters/raw/cause_names.h"
#include "exporters/raw/proto_message.h"

namespace unspool::exporters::raw {

using collectors::NodeView;
using collectors::RootNode;
using unwind::WalkEnd;

namespace {

constexpr size_t kMaxPath = kMaxStackDepth + 1;  // and the root
constexpr size_t kMaxEncoded = kMaxPath + 1;     // and a leaf that is no node
constexpr uint32_t kLastRoot =
    RootNode(static_cast<WalkEnd>(unwind::kWalkEndCount - 1));

WalkEnd EndOf(uint32_t root) {
  return static_cast<WalkEnd>(root - RootNode(WalkEnd::kRoot));
}

}  // namespace

bool StackWalker::Prepare() {
  return new_frames_.Resize(kMaxPath) && path_.Resize(kMaxPath) &&
         encoded_.Resize(kMaxEncoded * VarintSize(~uint32_t{0}));
}

bool StackWalker::Read(uint32_t node, Stack* stack) {
  if (is_cut_) depth_ = 0;
  is_cut_ = false;
  if (!FindNewFrames(node)) return false;
  if (shared_ + new_count_ > kMaxPath) {  // to be cut, so it shares nothing
    depth_ = 0;
    if (!FindNewFrames(node)) return false;
  }
  EncodeNewFrames();
  stack->locations = {encoded_.end() - encoded_size_, encoded_size_};
  stack->end = EndOf(path_[0].node);
  stack->has_guessed = path_[depth_ - 1].has_guessed;
  return true;
}

// In front of what is encoded, where the next stack's frames go.
bool StackWalker::Read(const NodeView& leaf, Stack* stack) {
  if (!Read(leaf.parent, stack)) return false;
  const size_t callers_size = encoded_size_;
  Prepend(modules_.LocationOf(leaf));
  stack->locations = {encoded_.end() - encoded_size_, encoded_size_};
  stack->has_guessed = stack->has_guessed || leaf.guessed;
  encoded_size_ = callers_size;
  return true;
}

// From the leaf to the first node that is in the last stack, or a root. Both
// stacks' nodes descend, so one look at each is enough.
bool StackWalker::FindNewFrames(uint32_t node) {
  new_count_ = 0;
  shared_ = depth_;
  for (;;) {
    while (shared_ > 0 && path_[shared_ - 1].node > node) --shared_;
    if (shared_ > 0 && path_[shared_ - 1].node == node) return true;
    if (node < collectors::kFirstNode) {
      if (node == 0 || node > kLastRoot) return false;
      shared_ = 0;
      AddRoot(node);
      return true;
    }
    if (new_count_ == kMaxStackDepth) {
      shared_ = 0;
      is_cut_ = true;
      AddRoot(RootNode(WalkEnd::kDepth));
      return true;
    }
    if (!AddNewFrame(&node)) return false;
  }
}

// Moves *node to its caller. False: it is missing.
bool StackWalker::AddNewFrame(uint32_t* node) {
  NodeView view;
  if (is_archive_) {
    if (!reader_.FindArchivedNode(*node, &view)) return false;
  } else {
    if (!chunk_.Has(*node)) chunk_ = reader_.NodeChunkOf(image_, *node);
    if (!chunk_.Find(*node, &view)) return false;
  }
  new_frames_[new_count_++] = {*node, modules_.LocationOf(view), view.guessed};
  *node = view.parent;
  return true;
}

void StackWalker::AddRoot(uint32_t root) {
  const WalkEnd end = EndOf(root);
  const uint32_t location =
      end == WalkEnd::kRoot
          ? 0
          : PseudoFrame(tables_, "truncated",
                        TruncationName(static_cast<size_t>(end)));
  new_frames_[new_count_++] = {root, location, false};
}

void StackWalker::EncodeNewFrames() {
  bool has_guessed = shared_ > 0 && path_[shared_ - 1].has_guessed;
  encoded_size_ = shared_ > 0 ? path_[shared_ - 1].encoded_size : 0;
  depth_ = shared_;
  while (new_count_ > 0) {
    const Frame& frame = new_frames_[--new_count_];
    has_guessed = has_guessed || frame.is_guessed;
    if (frame.location != 0) Prepend(frame.location);
    path_[depth_++] = {frame.node, static_cast<uint32_t>(encoded_size_),
                       has_guessed};
  }
}

void StackWalker::Prepend(uint32_t location) {
  encoded_size_ += VarintSize(location);
  EncodeVarint(location,
               reinterpret_cast<uint8_t*>(encoded_.end() - encoded_size_));
}

}  // namespace unspool::exporters::raw
