// The picture. Only frames that can be seen are visited: a row holds no more
// of them than pixels, whatever the profile's size; smaller neighbours are drawn
// as one grey frame.

const MIN_WIDTH_PX = 0.7;
const MIN_NAME_CHARS = 4;

class Canvas {
  constructor(app) {
    this.app = app;
    this.graph = document.getElementById('graph');
    this.extent = document.getElementById('extent');
    this.canvas = document.getElementById('canvas');
    this.context = this.canvas.getContext('2d');
    this.from = 0;  // the window, in layout weight
    this.to = 1;
    this.isPending = false;
  }

  measure() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    this.fontPx = Math.round(rem * 0.86 * 2) / 2;
    this.rowPx = Math.round(rem * 1.45);
    this.ratio = window.devicePixelRatio || 1;
    this.width = this.graph.clientWidth;
    this.height = this.graph.clientHeight;
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.canvas.style.height = this.height + 'px';
    const family = getComputedStyle(this.graph).fontFamily;
    this.font = `${this.fontPx}px ${family}`;
    this.context.font = this.font;
    this.charPx = this.context.measureText('0123456789').width / 10;
    this.setExtent();
  }

  // The scrolled height: all rows of what is zoomed to.
  setExtent() {
    const {tree, state} = this.app;
    let deepest = 0;
    for (let i = state.zoom; i < tree.end[state.zoom]; i++) {
      deepest = Math.max(deepest, tree.depth[i]);
    }
    this.rows = deepest + 1;
    this.total = Math.max(this.rows * this.rowPx + 2, this.height);
    this.extent.style.height = this.total + 'px';
  }

  // Top of a row, in the scrolled extent. Few rows stand on the ground of the
  // picture: at the bottom of a flame, at the top of an icicle.
  top(depth) {
    return this.app.isFlame ? this.total - (depth + 1) * this.rowPx :
                              depth * this.rowPx;
  }

  depthAt(y) {
    const fromTop = y + this.graph.scrollTop;
    return Math.floor((this.app.isFlame ? this.total - fromTop : fromTop) /
                      this.rowPx);
  }

  scrollTo(node) {
    const top = this.top(this.app.tree.depth[node]);
    const slack = this.rowPx * 2;
    const {scrollTop} = this.graph;
    if (top < scrollTop + slack) {
      this.graph.scrollTop = top - slack;
    } else if (top + this.rowPx > scrollTop + this.height - slack) {
      this.graph.scrollTop = top + this.rowPx - this.height + slack;
    }
  }

  // Moves the window to a node, in a few steps unless told otherwise.
  show(node, atOnce) {
    const {tree} = this.app;
    const from = tree.start[node];
    const to = from + (tree.total[node] || 1);
    cancelAnimationFrame(this.animation);
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (atOnce || calm) {
      this.from = from;
      this.to = to;
      return this.draw();
    }
    const begin = {from: this.from, to: this.to, time: performance.now()};
    const step = (now) => {
      const t = Math.min(1, Math.max(0, (now - begin.time) / 180));
      const eased = 1 - (1 - t) ** 3;
      this.from = begin.from + (from - begin.from) * eased;
      this.to = begin.to + (to - begin.to) * eased;
      this.paint();
      if (t < 1) this.animation = requestAnimationFrame(step);
    };
    this.animation = requestAnimationFrame(step);
  }

  draw() {
    if (this.isPending) return;
    this.isPending = true;
    requestAnimationFrame(() => {
      this.isPending = false;
      this.paint();
    });
  }

  x(weight) {
    return (weight - this.from) / (this.to - this.from) * this.width;
  }

  // Calls visit(node, left, right, count): frames that can be seen, and runs of
  // `count` > 1 or too small siblings, which begin at `node`, as one.
  forEachVisible(visit) {
    const {tree} = this.app;
    const lowest = this.depthAt(this.app.isFlame ? this.height : 0);
    const highest = this.depthAt(this.app.isFlame ? 0 : this.height);
    for (let i = 0; i < tree.count;) {
      const left = this.x(tree.start[i]);
      const right = this.x(tree.start[i] + tree.total[i]);
      const depth = tree.depth[i];
      if (right <= 0 || left >= this.width || depth > highest) {
        // Siblings lie from left to right.
        i = left >= this.width && depth > 0 ? tree.end[tree.parent[i]] :
                                              tree.end[i];
      } else if (right - left < MIN_WIDTH_PX) {
        i = this.visitRun(i, depth >= lowest ? visit : () => {});
      } else {
        if (depth >= lowest) visit(i, left, right, 1);
        i++;
      }
    }
  }

  visitRun(first, visit) {
    const {tree} = this.app;
    const end = tree.end[tree.parent[first]];
    const left = this.x(tree.start[first]);
    let right = left;
    let count = 0;
    let i = first;
    for (; i < end && right < this.width; i = tree.end[i]) {
      const next = this.x(tree.start[i] + tree.total[i]);
      if (next - right >= MIN_WIDTH_PX) break;
      right = next;
      count++;
    }
    visit(first, left, right, count, true);
    return right >= this.width ? end : i;
  }

  // What is at these coordinates of the graph: {node, count, isRun}, or null.
  hit(x, y) {
    const depth = this.depthAt(y);
    let found = null;
    this.forEachVisible((node, left, right, count, isRun = false) => {
      if (this.app.tree.depth[node] === depth && x >= left && x < right) {
        found = {node, count, isRun};
      }
    });
    return found;
  }

  paint() {
    const {context, app} = this;
    const {colors} = app;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = colors.paper;
    context.fillRect(0, 0, this.width, this.height);
    context.textBaseline = 'middle';
    const labels = [];
    this.forEachVisible((node, left, right, count, isRun) => {
      const box = {
        node, isRun,
        x: Math.max(left, 0),
        y: this.top(app.tree.depth[node]) - this.graph.scrollTop,
        w: Math.min(right, this.width) - Math.max(left, 0),
        h: this.rowPx - 1,
      };
      this.paintBox(box);
      if (!isRun && box.w > this.charPx * 3) labels.push(box);
    });
    for (const box of labels) this.paintLabel(box);
    this.paintFocus();
  }

  paintBox({node, isRun, x, y, w, h}) {
    const {context, app} = this;
    const {tree, colors} = app;
    const isMatch = !isRun && app.search.matchesNode(tree, node);
    const dimmed = app.search.isActive && !isMatch;
    const isBelowZoom = tree.depth[node] < tree.depth[app.state.zoom];
    context.globalAlpha = dimmed ? 0.45 : isBelowZoom ? 0.6 : 1;
    context.fillStyle = isRun ? colors.faint : isMatch ? colors.match :
        colors.ofNode(tree, node, app.largestChange);
    const gap = w > 3 ? 0.8 : w > 1.5 ? 0.4 : 0;
    context.fillRect(x, y, Math.max(w - gap, 0.5), h);
    if (!isRun && w > 4) this.paintSigns(node, x, y, w - gap, h);
    context.globalAlpha = 1;
  }

  // Edges and stripes: what colour alone must not say.
  paintSigns(node, x, y, w, h) {
    const {context, app} = this;
    const {tree, colors, profile} = app;
    const {kind} = profile.frames[tree.frame[node]];
    const isRoot = node === 0 && !tree.isInverted;
    context.strokeStyle = colors.stripe;
    context.lineWidth = 1;
    if (kind === KIND.truncated || kind === KIND.missing) {
      this.paintStripes(x, y, w, h);
    }
    if (kind === KIND.kernel) {
      context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
      context.strokeRect(x + 2.5, y + 2.5, w - 5, h - 5);
    }
    if (!isRoot && isGuessed(tree, node)) {
      context.setLineDash([4, 3]);
      context.strokeStyle = colors.ink;
      context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
      context.setLineDash([]);
    }
    if (tree.inlined[node]) {
      context.fillStyle = colors.stripe;
      context.fillRect(x, y, 2, h);
    }
  }

  paintStripes(x, y, w, h) {
    const {context} = this;
    context.save();
    context.beginPath();
    context.rect(x, y, w, h);
    context.clip();
    context.globalAlpha *= 0.5;  // the name in front has to be read
    context.beginPath();
    for (let at = x - h; at < x + w; at += 7) {
      context.moveTo(at, y + h);
      context.lineTo(at + h, y);
    }
    context.stroke();
    context.restore();
  }

  paintLabel({node, x, y, w, h}) {
    const {context, app} = this;
    const {tree, names, colors} = app;
    const sign = names.sign(tree, node) + changeText(app, node);
    const room = Math.floor((w - 8) / this.charPx) - sign.length;
    // "f…" tells nobody anything.
    if (room < Math.min(MIN_NAME_CHARS, names.of(tree, node).length)) return;
    const text = sign + names.fitted(tree, node, room);
    const dimmed = app.search.isActive && !app.search.matchesNode(tree, node);
    context.globalAlpha = dimmed ? 0.6 : 1;
    context.font = (tree.inlined[node] ? 'italic ' : '') + this.font;
    context.fillStyle = colors.ink;
    context.fillText(text, x + 5, y + h / 2 + 0.5, w - 7);
    context.globalAlpha = 1;
  }

  paintFocus() {
    const {app, context} = this;
    const {tree, state, colors} = app;
    const left = Math.max(this.x(tree.start[state.focus]), 0);
    const right = Math.min(
        this.x(tree.start[state.focus] + tree.total[state.focus]), this.width);
    if (right < 0 || left > this.width || !app.hasKeyboard) return;
    const y = this.top(tree.depth[state.focus]) - this.graph.scrollTop;
    const width = Math.max(right - left - 2, 2);
    for (const [color, line] of [[colors.paper, 4], [colors.focus, 2]]) {
      context.strokeStyle = color;
      context.lineWidth = line;
      context.strokeRect(left + 1, y, width, this.rowPx - 1);
    }
  }
}

// "new ", "gone " or the change, where the picture is a difference.
function changeText({tree, profile}, node) {
  if (!profile.isDifference || (node === 0 && !tree.isInverted)) return '';
  const change = changeOf(tree, node);
  const word = tree.before[node] === 0 ? 'new ' :
      tree.after[node] === 0 ? 'gone ' : '';
  if (word === '' && Math.abs(change) < 0.0005) return '';
  return word + formatChange(change) + ' ';
}
