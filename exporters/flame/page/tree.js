// What is drawn: a tree in preorder, one array per column, made from the
// profile for some of its threads, root first or from a function to its
// callers.
//
// A node's layout weight is its value; in a difference, the mean of its shares
// of both profiles, so that what is new and what is gone both have a width.

class TreeBuilder {
  constructor(profile, capacity) {
    this.profile = profile;
    this.count = 0;
    this.columns = {
      frame: new Uint32Array(capacity),
      place: new Uint32Array(capacity),
      inlined: new Uint8Array(capacity),
      depth: new Uint32Array(capacity),
      after: new Float64Array(capacity),
      before: new Float64Array(capacity),
      guessed: new Float64Array(capacity),
    };
  }

  grow() {
    for (const [key, column] of Object.entries(this.columns)) {
      this.columns[key] = new column.constructor(column.length * 2);
      this.columns[key].set(column);
    }
  }

  // A node, in preorder; returns its number.
  add(depth, frame, place, inlined) {
    const node = this.count++;
    if (node === this.columns.frame.length) this.grow();
    const {columns} = this;
    columns.frame[node] = frame;
    columns.place[node] = place;
    columns.inlined[node] = inlined;
    columns.depth[node] = depth;
    return node;
  }

  addValue(node, group, value) {
    const {columns} = this;
    (group.before ? columns.before : columns.after)[node] += value;
    if (group.guessed) columns.guessed[node] += value;
  }

  // `scale`: what 100 % is, before and after.
  finish(scale) {
    const {count} = this;
    const tree = {
      count,
      parent: new Uint32Array(count),
      end: new Uint32Array(count),  // first node behind the subtree
      start: new Float64Array(count),  // left edge, in layout weight
      scale,
    };
    for (const [key, column] of Object.entries(this.columns)) {
      tree[key] = column.subarray(0, count);
    }
    linkNodes(tree);
    tree.selfAfter = tree.after.slice();
    tree.selfBefore = tree.before.slice();
    tree.self = this.layoutWeights(tree.selfAfter, tree.selfBefore, scale);
    for (let i = count - 1; i > 0; i--) {
      const parent = tree.parent[i];
      tree.after[parent] += tree.after[i];
      tree.before[parent] += tree.before[i];
      tree.guessed[parent] += tree.guessed[i];
    }
    tree.total = this.layoutWeights(tree.after, tree.before, scale);
    placeNodes(tree);
    return tree;
  }

  layoutWeights(after, before, scale) {
    if (!this.profile.isDifference) return after;
    return after.map((value, i) => share(value, scale.after) / 2 +
                                   share(before[i], scale.before) / 2);
  }
}

const share = (value, whole) => (whole > 0 ? value / whole : 0);

function linkNodes(tree) {
  const path = [];  // the nodes above, in its first `open` entries
  let open = 0;
  for (let i = 0; i < tree.count; i++) {
    const depth = tree.depth[i];
    for (let d = depth; d < open; d++) tree.end[path[d]] = i;
    path[depth] = i;
    open = depth + 1;
    tree.parent[i] = depth === 0 ? 0 : path[depth - 1];
  }
  for (let d = 0; d < open; d++) tree.end[path[d]] = tree.count;
}

function placeNodes(tree) {
  const next = new Float64Array(tree.count);  // where the next child begins
  for (let i = 1; i < tree.count; i++) {
    const parent = tree.parent[i];
    tree.start[i] = next[parent];
    next[i] = next[parent];
    next[parent] += tree.total[i];
  }
}

function scaleOf(profile) {
  const scale = {before: 0, after: 0};
  const {values} = profile.nodes;
  for (let v = 0; v < values.count; v++) {
    const side = profile.groups[values.group[v]].before ? 'before' : 'after';
    scale[side] += values.value[v];
  }
  return scale;
}

// What both profiles of a difference added up to before one was scaled to the
// other; of one profile, its sum.
function sumsOf({facts, scale}) {
  const known = /^(\d+) (\d+)$/.exec(facts.get('difference') ?? '');
  return known === null ? scale :
      {before: Number(known[1]), after: Number(known[2])};
}

const ALL_STATES = '';

// Whether a group's samples count where one looks at `state` only.
function isInState(group, state) {
  return state === ALL_STATES || group.waiting === (state === 'waiting');
}

// The value rows of each thread, of those in `state`.
function valuesByThread(profile, state) {
  const byThread = profile.threads.map(() => []);
  const {values} = profile.nodes;
  for (let v = 0; v < values.count; v++) {
    const group = profile.groups[values.group[v]];
    if (isInState(group, state)) byThread[group.thread].push(v);
  }
  return byThread;
}

// Adds the nodes that the value rows need, `shift` levels down; `rootNode`
// stands for the root.
function addStacks(builder, rows, shift, rootNode) {
  const {nodes, groups} = builder.profile;
  const {values} = nodes;
  const numbers = new Uint32Array(nodes.count);  // 0: not needed
  for (const v of rows) {
    for (let n = values.node[v]; n > 0 && numbers[n] === 0;) {
      numbers[n] = 1;
      n = nodes.parent[n];
    }
  }
  numbers[0] = rootNode;
  for (let n = 1; n < nodes.count; n++) {
    if (numbers[n] === 0) continue;
    numbers[n] = builder.add(nodes.depth[n] + shift, nodes.frame[n],
                             nodes.place[n], nodes.inlined[n]);
  }
  for (const v of rows) {
    builder.addValue(numbers[values.node[v]], groups[values.group[v]],
                     values.value[v]);
  }
}

function addAll(builder) {
  const {nodes, groups} = builder.profile;
  const {values} = nodes;
  for (const key of ['frame', 'place', 'inlined', 'depth']) {
    builder.columns[key].set(nodes[key]);
  }
  builder.count = nodes.count;
  for (let v = 0; v < values.count; v++) {
    builder.addValue(values.node[v], groups[values.group[v]], values.value[v]);
  }
}

const ALL_THREADS = -1;
const EACH_THREAD = -2;

// Root first: all threads as one, each under a node of its own, or one; of all
// samples, or of those in `state`.
function callTree(profile, thread, state) {
  // Threads apart may share nodes, but few do.
  const builder = new TreeBuilder(profile,
                                  profile.nodes.count + profile.threads.length);
  if (thread === ALL_THREADS && state === ALL_STATES) {
    addAll(builder);
    return builder.finish(profile.scale);
  }
  const root = builder.add(0, 0, 0, 0);
  const byThread = valuesByThread(profile, state);
  if (thread === EACH_THREAD) {
    const weight = (rows) => rows.reduce(
        (sum, v) => sum + profile.nodes.values.value[v], 0);
    const threads = byThread
        .map((rows, i) => ({i, rows, weight: weight(rows)}))
        .filter(({rows}) => rows.length > 0)
        .sort((a, b) => b.weight - a.weight);
    for (const {i, rows} of threads) {
      const node = builder.add(1, profile.threadFrames[i], 0, 0);
      addStacks(builder, rows, 1, node);
    }
  } else {
    const rows = thread === ALL_THREADS ? byThread.flat() : byThread[thread];
    addStacks(builder, rows, 0, root);
  }
  return builder.finish(profile.scale);
}

// From a function to its callers. A stack counts once, from the function's
// outermost frame, so that the root's total is the function's. null if the
// function is not in the tree.
function callerTree(profile, calls, frame) {
  const builder = new TreeBuilder(profile, 1024);
  const outermost = [];
  for (let i = 0; i < calls.count;) {
    if (i > 0 && calls.frame[i] === frame) outermost.push(i);
    i = i > 0 && calls.frame[i] === frame ? calls.end[i] : i + 1;
  }
  if (outermost.length === 0) return null;
  // Each entry: the nodes of `calls` that are one node here, and what flows
  // from the function through each of them.
  const flow = (n) => ({at: n, after: calls.after[n], before: calls.before[n],
                        guessed: calls.guessed[n]});
  const stack = [{depth: 0, frame, flows: outermost.map(flow)}];
  while (stack.length > 0) {
    const {depth, frame: name, flows} = stack.pop();
    let heaviest = flows[0];
    for (const f of flows) {
      if (f.after + f.before > heaviest.after + heaviest.before) heaviest = f;
    }
    const node = builder.add(depth, name, calls.place[heaviest.at],
                             calls.inlined[heaviest.at]);
    const callers = groupByCaller(calls, flows, builder, node);
    // The lightest is pushed first, to come last.
    callers.sort((a, b) => a.weight - b.weight);
    for (const c of callers) {
      stack.push({depth: depth + 1, frame: c.frame, flows: c.flows});
    }
  }
  return builder.finish(profile.scale);
}

function groupByCaller(calls, flows, builder, node) {
  const parents = new Map();
  for (const f of flows) {
    const parent = calls.parent[f.at];
    if (parent === 0) {
      builder.columns.after[node] += f.after;
      builder.columns.before[node] += f.before;
      builder.columns.guessed[node] += f.guessed;
      continue;
    }
    const known = parents.get(parent);
    if (known === undefined) {
      parents.set(parent, {...f, at: parent});
    } else {
      known.after += f.after;
      known.before += f.before;
      known.guessed += f.guessed;
    }
  }
  const byFrame = new Map();
  for (const f of parents.values()) {
    const frame = calls.frame[f.at];
    if (!byFrame.has(frame)) byFrame.set(frame, {frame, flows: [], weight: 0});
    const group = byFrame.get(frame);
    group.flows.push(f);
    group.weight += share(f.after, calls.scale.after) +
        share(f.before, calls.scale.before);
  }
  return [...byFrame.values()];
}

// What each function uses itself and with what it calls, a stack counted once:
// {frame, self, total}, in layout weight, for frames that have any; and in
// {selfChange, totalChange} what of it came or went.
function functionTable(profile, tree) {
  const column = () => new Float64Array(profile.frames.length);
  const [self, total, selfChange, totalChange] =
      [column(), column(), column(), column()];
  const open = new Uint32Array(profile.frames.length);  // on the path
  const path = [];
  for (let i = 1; i < tree.count; i++) {
    while (path.length >= tree.depth[i]) open[path.pop()]--;
    const frame = tree.frame[i];
    if (open[frame]++ === 0) {
      total[frame] += tree.total[i];
      if (profile.isDifference) totalChange[frame] += changeOf(tree, i);
    }
    path.push(frame);
    self[frame] += tree.self[i];
    if (profile.isDifference) selfChange[frame] += selfChangeOf(tree, i);
  }
  const rows = [];
  for (let frame = 0; frame < self.length; frame++) {
    const {kind, isThread} = profile.frames[frame];
    if (total[frame] > 0 && kind !== KIND.folded && !isThread) {
      rows.push({frame, self: self[frame], total: total[frame],
                 selfChange: selfChange[frame],
                 totalChange: totalChange[frame]});
    }
  }
  return rows;
}
