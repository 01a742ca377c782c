// A colour per module, the heaviest first, so that neighbours in weight are
// apart in hue; shades of it by function. A difference has its own scale.

// Hues of OKLCH: amber for the program itself, as flames are.
const HUES = [62, 235, 150, 310, 25, 195, 105, 275, 345, 170, 215, 85];

// A difference's strongest colour is that of its largest change, but of this at
// least: noise shall look like noise.
const LEAST_STRONG_CHANGE = 0.05;

class Colors {
  constructor(profile, table) {
    this.profile = profile;
    this.modules = rankModules(profile, table);
    this.folded = foldedSelf(profile);
    this.hue = new Map(this.modules.map(
        ({module}, i) => [module, HUES[i % HUES.length]]));
    this.shades = profile.frames.map(({name}) => hashOf(name) % 5);
    this.fills = new Map();
    this.setTheme(false);
  }

  setTheme(isDark) {
    this.isDark = isDark;
    this.fills.clear();
    const ink = isDark ? 'oklch(0.95 0.01 80)' : 'oklch(0.24 0.02 60)';
    const paper = isDark ? 'oklch(0.205 0.012 60)' : 'oklch(0.99 0.004 80)';
    this.ink = ink;
    this.paper = paper;
    this.faint = isDark ? 'oklch(0.32 0.01 60)' : 'oklch(0.89 0.008 70)';
    this.stripe = isDark ? 'oklch(0.55 0.02 60)' : 'oklch(0.66 0.02 60)';
    this.match = isDark ? 'oklch(0.50 0.20 350)' : 'oklch(0.80 0.16 345)';
    this.focus = isDark ? 'oklch(0.97 0.01 80)' : 'oklch(0.25 0.02 60)';
  }

  ofModule(module, shade = 2) {
    const hue = this.hue.get(module);
    if (hue === undefined) return this.faint;
    const light = this.isDark ? 0.42 + shade * 0.022 : 0.89 - shade * 0.022;
    const chroma = this.isDark ? 0.09 + shade * 0.007 : 0.058 + shade * 0.013;
    return `oklch(${light} ${chroma} ${hue})`;
  }

  // Grey where nothing changed, orange where it grew, blue where it shrank.
  ofChange(change, largest) {
    const strength = Math.min(1, Math.sqrt(Math.abs(change) / largest));
    if (!(strength > 0.12)) return this.faint;
    const step = Math.round(strength * 8) / 8;
    const hue = change > 0 ? 45 : 245;
    return this.isDark ? `oklch(${0.34 + step * 0.17} ${step * 0.14} ${hue})` :
                         `oklch(${0.92 - step * 0.2} ${step * 0.15} ${hue})`;
  }

  ofNode(tree, node, largestChange) {
    const frame = this.profile.frames[tree.frame[node]];
    const isRoot = node === 0 && !tree.isInverted;
    if (isRoot || frame.kind > KIND.kernel) return this.faint;
    if (this.profile.isDifference) {
      return this.ofChange(changeOf(tree, node), largestChange);
    }
    if (frame.isThread) return this.faint;
    const key = tree.frame[node] * 2 + tree.inlined[node];
    let fill = this.fills.get(key);
    if (fill === undefined) {
      fill = this.ofModule(frame.module, this.shades[tree.frame[node]]);
      this.fills.set(key, fill);
    }
    return fill;
  }
}

// [{module, self}] in layout weight, the heaviest first.
function rankModules(profile, table) {
  const self = new Map();
  for (const row of table) {
    const {module, kind} = profile.frames[row.frame];
    if (kind > KIND.kernel) continue;
    self.set(module, (self.get(module) ?? 0) + row.self);
  }
  const ranked = [...self].map(([module, weight]) => ({module, self: weight}));
  ranked.sort((a, b) => b.self - a.self);
  const main = profile.facts.get('program');
  const first = ranked.findIndex(({module}) => module === main);
  if (first > 0) ranked.unshift(...ranked.splice(first, 1));
  return ranked;
}

// What the frames that the file does not tell apart use themselves, of which no
// module is known.
function foldedSelf({nodes, frames}) {
  const {values} = nodes;
  let sum = 0;
  for (let v = 0; v < values.count; v++) {
    const node = values.node[v];
    if (node > 0 && frames[nodes.frame[node]].kind === KIND.folded) {
      sum += values.value[v];
    }
  }
  return sum;
}

function hashOf(text) {
  let hash = 0;
  for (let i = 0; i < text.length; i++) {
    hash = (Math.imul(hash, 31) + text.charCodeAt(i)) >>> 0;
  }
  return hash;
}
