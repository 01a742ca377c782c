// Which functions match, and how much of the picture they are.

class Search {
  constructor(profile) {
    this.profile = profile;
    this.isActive = false;
    this.isBad = false;  // not a regular expression
    this.matching = new Uint8Array(profile.frames.length);
  }

  // Plain text, without regard to case; a regular expression if /in slashes/.
  set(query) {
    this.query = query;
    this.isBad = false;
    this.matching.fill(0);
    this.isActive = query !== '';
    if (!this.isActive) return;
    const test = this.compile(query);
    this.profile.frames.forEach(({name, kind}, i) => {
      if (kind !== KIND.folded && test(name)) this.matching[i] = 1;
    });
  }

  compile(query) {
    const slashed = /^\/(.+)\/$/.exec(query);
    if (slashed === null) {
      const wanted = query.toLowerCase();
      return (name) => name.toLowerCase().includes(wanted);
    }
    try {
      const expression = new RegExp(slashed[1]);
      return (name) => expression.test(name);
    } catch {
      this.isBad = true;
      return () => false;
    }
  }

  matches(frame) {
    return this.matching[frame] === 1;
  }

  matchesNode(tree, node) {
    return (node > 0 || tree.isInverted) && this.matches(tree.frame[node]);
  }

  // {frames, weight, before, after} under `root`: a stack counts once, however
  // often it matches.
  sum(tree, root) {
    const sum = {frames: 0, weight: 0, before: 0, after: 0};
    let behind = root;  // the end of the last match that was counted
    for (let i = root; i < tree.end[root]; i++) {
      if (!this.matchesNode(tree, i)) continue;
      sum.frames++;
      if (i < behind) continue;
      sum.weight += tree.total[i];
      sum.before += tree.before[i];
      sum.after += tree.after[i];
      behind = tree.end[i];
    }
    return sum;
  }

  // The next match after `node`, around the end; `step` is 1 or -1. -1: none.
  next(tree, node, step) {
    for (let k = 1; k <= tree.count; k++) {
      const i = (node + step * k + tree.count * 2) % tree.count;
      if (this.matchesNode(tree, i)) return i;
    }
    return -1;
  }
}
