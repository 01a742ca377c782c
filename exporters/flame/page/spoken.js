// The picture for those who hear it: the focused frame with its callers, its
// neighbours and what it calls, as items of an ARIA tree. The items are few,
// however large the profile is, and follow the focus.

const SPOKEN_CALLERS = 20;
const SPOKEN_SIBLINGS = 5;  // to each side
const SPOKEN_CHILDREN = 20;

function childrenOf(tree, node) {
  const children = [];
  for (let i = node + 1; i < tree.end[node]; i = tree.end[i]) children.push(i);
  return children;
}

class Spoken {
  constructor(app) {
    this.app = app;
    this.graph = document.getElementById('graph');
    this.items = document.getElementById('items');
    this.status = document.getElementById('status');
  }

  say(text) {
    this.status.textContent = text;
  }

  // Makes the items for the frame in focus.
  update() {
    const {tree, state} = this.app;
    const nodes = [];
    for (let i = state.focus; i > 0 && nodes.length < SPOKEN_CALLERS;) {
      i = tree.parent[i];
      nodes.unshift(i);
    }
    const {focus} = state;
    const siblings = focus === 0 ? [0] : childrenOf(tree, tree.parent[focus]);
    const at = siblings.indexOf(focus);
    const near = siblings.slice(Math.max(0, at - SPOKEN_SIBLINGS),
                                at + SPOKEN_SIBLINGS + 1);
    const items = nodes.map((node) => this.item(node));
    for (const node of near) {
      items.push(this.item(node, siblings));
      if (node !== focus) continue;
      const children = childrenOf(tree, focus);
      for (const child of children.slice(0, SPOKEN_CHILDREN)) {
        items.push(this.item(child, children));
      }
    }
    this.items.replaceChildren(...items);
    this.graph.setAttribute('aria-activedescendant', 'frame-' + focus);
  }

  item(node, siblings = [node]) {
    const {app} = this;
    const {tree} = app;
    const item = document.createElement('div');
    item.id = 'frame-' + node;
    item.setAttribute('role', 'treeitem');
    item.setAttribute('aria-level', tree.depth[node] + 1);
    item.setAttribute('aria-setsize', siblings.length);
    item.setAttribute('aria-posinset', siblings.indexOf(node) + 1);
    item.setAttribute('aria-selected', node === app.state.focus);
    if (tree.end[node] > node + 1) {
      item.setAttribute('aria-expanded', node === app.state.focus);
    }
    const {name, rows} = describe(app, node);
    item.textContent =
        [name, ...rows.map(([what, text]) => what + ' ' + text)].join(', ');
    return item;
  }
}
